//! `#[op]`: a function becomes an entry of the registry. Its names, parameters, defaults and documentation are read
//! from the function itself. `#[derive(Stored)]`: a type can be written to files.

mod stored;

use proc_macro::TokenStream;
use proc_macro2::{Ident, Span, TokenStream as Tokens};
use quote::{ToTokens, format_ident, quote};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{
    Attribute, DeriveInput, Expr, ExprLit, FnArg, ItemFn, Lit, Meta, Pat, Token, Type, parse_macro_input,
};

/// Offers a function to the host language: `#[op(form)]`, `#[op(form, names("sum", "reduce_sum"))]`.
///
/// The form is one of
/// * `function`: a function of the namespace, and no method;
/// * `method`: also a method of the first parameter, a tensor (as are the forms that follow), in Rust too;
/// * `view`: a method whose results share the tensor's memory where they can;
/// * `in_place`: a method with an in-place form (`sin_`), whose result has the shape of the tensor;
/// * `reshaping`: a `view` with an in-place form that may change the shape;
/// * `rust`: a method in Rust only, because the host is offered one with more parameters.
///
/// With `half` the function takes float16 and bfloat16 as they are, as views do. Any other gets them in float32, and
/// its results are rounded back. With `draws` it draws random numbers, in torch's dialect those of PyTorch. With `heavy`,
/// and in the namespaces `linalg` and `fft`, it takes long for the size of its operands, with `light` about as long as to read
/// them. With `reads_lent` it may read memory that another library writes to: it takes no number from there as a count or a
/// place. With `row` all that it does to floats of one dtype is to apply one op, element by element or a sum. `paddle(A, B)` and `torch(C)` list the `Convention`s in which that library's function differs from the native one;
/// `A = "name"` holds for the function of that name alone.
///
/// The names default to the function's own. `in linalg` puts the first of them into a namespace; the others are aliases
/// in the root. A parameter may say `#[default(value)]`: `None`, `true`, `false`, a number, a string or a list of
/// integers. The documentation of the function is that of the op: its example is a block fenced as `python`, and the
/// fences are left out of the text that the host shows.
#[proc_macro_attribute]
pub fn op(options: TokenStream, item: TokenStream) -> TokenStream {
    let options = parse_macro_input!(options as Options);
    let mut function = parse_macro_input!(item as ItemFn);
    if options.form == "rust" {
        let method = method(&function);
        return quote!(#function #method).into();
    }
    match entry(&options, &mut function) {
        Ok(entry) => {
            let method = (options.form != "function").then(|| method(&function));
            quote!(#function #entry #method).into()
        }
        Err(error) => error.into_compile_error().into(),
    }
}

/// Writes a struct or an enum to files field by field, and reads it from there. The variants of an enum are told by their
/// order, so new ones come last.
///
/// `#[stored(op)]` makes an op known to files, under the name of its type and the types of its fields. A member of a
/// generic family of ops says `#[stored(in Family)]`.
#[proc_macro_derive(Stored, attributes(stored))]
pub fn derive_stored(item: TokenStream) -> TokenStream {
    let input = parse_macro_input!(item as DeriveInput);
    stored::derive(input).unwrap_or_else(syn::Error::into_compile_error).into()
}

struct Options {
    form: Ident,
    space: Option<Ident>,
    names: Vec<Expr>,
    half: bool,
    draws: bool,
    heavy: bool,
    light: bool,
    reads_lent: bool,
    paddle: Vec<Tokens>,
    torch: Vec<Tokens>,
    row: bool,
}

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> syn::Result<Options> {
        let form = input.parse()?;
        let mut options = Options {
            form,
            space: None,
            names: Vec::new(),
            half: false,
            draws: false,
            heavy: false,
            light: false,
            reads_lent: false,
            paddle: Vec::new(),
            torch: Vec::new(),
            row: false,
        };
        while input.parse::<Option<Token![,]>>()?.is_some() && !input.is_empty() {
            if input.parse::<Option<Token![in]>>()?.is_some() {
                options.space = Some(input.parse()?);
                continue;
            }
            let word: Ident = input.parse()?;
            let flag = match word.to_string().as_str() {
                "half" => &mut options.half,
                "draws" => &mut options.draws,
                "heavy" => &mut options.heavy,
                "light" => &mut options.light,
                "reads_lent" => &mut options.reads_lent,
                "paddle" => {
                    options.paddle.extend(conventions(input)?);
                    continue;
                }
                "torch" => {
                    options.torch.extend(conventions(input)?);
                    continue;
                }
                "row" => &mut options.row,
                "names" => {
                    let list;
                    syn::parenthesized!(list in input);
                    options.names.extend(Punctuated::<Expr, Token![,]>::parse_terminated(&list)?);
                    continue;
                }
                _ => {
                    let words = "`in namespace`, `half`, `draws`, `heavy`, `light`, `reads_lent`, `row`, `paddle(...)`, `torch(...)` or `names(...)`";
                    return Err(syn::Error::new(word.span(), words));
                }
            };
            *flag = true;
        }
        Ok(options)
    }
}

/// The conventions of a library in parentheses: `(A, B = "name")`.
fn conventions(input: ParseStream<'_>) -> syn::Result<Vec<Tokens>> {
    let list;
    syn::parenthesized!(list in input);
    let one = |input: ParseStream<'_>| {
        let convention: Ident = input.parse()?;
        let only = match input.parse::<Option<Token![=]>>()? {
            Some(_) => {
                let name: Expr = input.parse()?;
                quote!(Some(#name))
            }
            None => quote!(None),
        };
        Ok(quote!((crate::ops::entry::Convention::#convention, #only)))
    };
    Ok(list.parse_terminated(one, Token![,])?.into_iter().collect())
}

/// The entry of a function, from which the attributes of parameters are removed.
fn entry(options: &Options, function: &mut ItemFn) -> syn::Result<Tokens> {
    let name = &function.sig.ident;
    let own = name.unraw().to_string();
    let mut names = options.names.iter().map(ToTokens::to_token_stream).collect::<Vec<_>>();
    if names.is_empty() {
        names.push(quote!(#own));
    }
    if let Some(space) = &options.space {
        let (space, first) = (format!("{space}."), &names[0]);
        names[0] = quote!(concat!(#space, #first));
    }
    let first = &names[0];
    let (method, views, in_place) = match options.form.to_string().as_str() {
        "function" => (false, false, "None"),
        "method" => (true, false, "None"),
        "view" => (true, true, "None"),
        "in_place" => (true, false, "SameShape"),
        "reshaping" => (true, true, "AnyShape"),
        _ => {
            let forms = "one of function, method, view, in_place, reshaping, rust";
            return Err(syn::Error::new(options.form.span(), forms));
        }
    };
    let takes_half = views || options.half;
    let (draws, reads_lent) = (options.draws, options.reads_lent);
    let (paddle, torch) = (&options.paddle, &options.torch);
    let is_row = options.row;
    let is_of_matrices = options.space.as_ref().is_some_and(|space| space == "linalg" || space == "fft");
    let work = match () {
        () if options.heavy || draws || is_of_matrices => quote!(Heavy),
        () if options.light => quote!(Light),
        () => quote!(Usual),
    };
    let in_place = Ident::new(in_place, Span::call_site());
    let doc = documentation(&function.attrs);
    let mut params = Vec::new();
    for param in &mut function.sig.inputs {
        params.push(parameter(param)?);
    }
    let taken = (0..params.len()).map(|i| quote!(crate::ops::entry::take(#first, args, #i)?));
    Ok(quote! {
        const _: () = {
            #[allow(unused_variables)]
            fn call(args: &[crate::ops::entry::Arg]) -> crate::error::Result<crate::ops::entry::Value> {
                Ok(crate::ops::entry::Value::from(#name(#(#taken),*)?))
            }
            ::inventory::submit! {
                crate::ops::entry::Entry {
                    names: &[#(#names),*],
                    params: &[#(#params),*],
                    doc: #doc,
                    method: #method,
                    views: #views,
                    in_place: crate::ops::entry::InPlace::#in_place,
                    takes_half: #takes_half,
                    is_row: #is_row,
                    draws: #draws,
                    work: crate::ops::entry::Work::#work,
                    reads_lent: #reads_lent,
                    paddle: &[#(#paddle),*],
                    torch: &[#(#torch),*],
                    call,
                }
            }
        };
    })
}

/// The function as a method of `Tensor`, for Rust. Its first parameter becomes `self`, and each other operand may be a
/// tensor or a number. Functions whose result only the host understands have none.
fn method(function: &ItemFn) -> Option<Tokens> {
    let ItemFn { attrs, sig, .. } = function;
    let (name, output) = (&sig.ident, &sig.output);
    if output.to_token_stream().to_string().contains("Value") {
        return None;
    }
    let docs = attrs.iter().filter(|a| a.path().is_ident("doc"));
    let (mut params, mut args, mut generics) = (Vec::new(), Vec::new(), quote!());
    for (i, param) in sig.inputs.iter().enumerate() {
        let FnArg::Typed(param) = param else { return None };
        let (Pat::Ident(pattern), ty) = (&*param.pat, &*param.ty) else { return None };
        let is_operand = ty.to_token_stream().to_string().starts_with("Operand");
        let plain = match pattern.ident.to_string().strip_prefix('_') {
            Some(rest) => format_ident!("{rest}"),
            None => pattern.ident.clone(),
        };
        match (i, is_operand) {
            (0, true) => args.push(quote!(self.into())),
            (0, false) => args.push(quote!(self)),
            (_, true) => {
                generics = quote!(<'operand>);
                params.push(quote!(#plain: impl Into<crate::ops::Operand<'operand>>));
                args.push(quote!(#plain.into()));
            }
            (_, false) => {
                params.push(quote!(#plain: #ty));
                args.push(quote!(#plain));
            }
        }
    }
    Some(quote! {
        impl crate::graph::Tensor {
            #(#docs)*
            ///
            /// # Errors
            /// Arguments that the op refuses, and want of memory.
            #[allow(clippy::too_many_arguments, clippy::should_implement_trait, non_snake_case)]
            pub fn #name #generics(&self, #(#params),*) #output {
                #name(#(#args),*)
            }
        }
    })
}

/// A parameter of the entry. A leading underscore of the name, for one that the function ignores, is left out.
fn parameter(param: &mut FnArg) -> syn::Result<Tokens> {
    let FnArg::Typed(param) = param else {
        return Err(syn::Error::new_spanned(param, "an op is no method"));
    };
    let Pat::Ident(pattern) = &*param.pat else {
        return Err(syn::Error::new_spanned(&param.pat, "a parameter of an op has a name"));
    };
    let name = pattern.ident.unraw().to_string();
    let name = name.trim_start_matches('_');
    let mut default = quote!(None);
    for attribute in param.attrs.extract_if(.., |a| a.path().is_ident("default")) {
        let value = literal(attribute.parse_args()?)?;
        default = quote!(Some(crate::ops::entry::Lit::#value));
    }
    let ty: &Type = &param.ty;
    Ok(quote! {
        crate::ops::entry::Param {
            name: #name,
            kind: <#ty as crate::ops::entry::FromArg<'static>>::KIND,
            default: #default,
        }
    })
}

/// A default as a variant of `Lit`.
fn literal(value: Expr) -> syn::Result<Tokens> {
    Ok(match &value {
        Expr::Group(group) => return literal((*group.expr).clone()),
        Expr::Path(path) if path.path.is_ident("None") => quote!(None),
        Expr::Lit(ExprLit { lit: Lit::Bool(b), .. }) => {
            format_ident!("{}", if b.value { "True" } else { "False" }).to_token_stream()
        }
        Expr::Lit(ExprLit { lit: Lit::Str(_), .. }) => quote!(Str(#value)),
        Expr::Array(_) => quote!(Ints(&#value)),
        value if is_integer(value) => quote!(Int(#value)),
        _ => quote!(Float(#value)),
    })
}

fn is_integer(value: &Expr) -> bool {
    match value {
        Expr::Unary(unary) => is_integer(&unary.expr),
        Expr::Lit(ExprLit { lit: Lit::Int(_), .. }) => true,
        _ => false,
    }
}

/// The text of the doc attributes, one a line, without the fences of examples.
fn documentation(attributes: &[Attribute]) -> Tokens {
    let mut parts: Vec<Tokens> = Vec::new();
    for attribute in attributes.iter().filter(|a| a.path().is_ident("doc")) {
        let Meta::NameValue(doc) = &attribute.meta else { continue };
        let mut value = &doc.value;
        while let Expr::Group(group) = value {
            value = &group.expr;
        }
        let part = match value {
            Expr::Lit(ExprLit { lit: Lit::Str(line), .. }) => {
                let line = line.value();
                let line = line.strip_prefix(' ').unwrap_or(&line);
                if line.starts_with("```") {
                    continue;
                }
                quote!(#line)
            }
            value => value.to_token_stream(),
        };
        if !parts.is_empty() {
            parts.push(quote!("\n"));
        }
        parts.push(part);
    }
    quote!(concat!(#(#parts),*))
}

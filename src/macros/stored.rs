//! `#[derive(Stored)]`: a struct or an enum as bytes, field by field, and an op by its name.

use proc_macro2::TokenStream as Tokens;
use quote::{ToTokens, format_ident, quote};
use syn::{Data, DeriveInput, Fields, Ident, Index, Path, Token, parse_quote};

pub fn derive(input: DeriveInput) -> syn::Result<Tokens> {
    let name = &input.ident;
    let registered = registration(&input)?;
    let (write, read) = match &input.data {
        Data::Struct(data) => {
            let (pattern, write, read) = fields(&data.fields);
            (quote!(let #name #pattern = self; #write), quote!(Some(#name #read)))
        }
        Data::Enum(data) => {
            let mut arms = (quote!(), quote!());
            for (i, variant) in (0u8..).zip(&data.variants) {
                let (case, (pattern, write, read)) = (&variant.ident, fields(&variant.fields));
                arms.0.extend(quote!(#name::#case #pattern => { to.push(#i); #write }));
                arms.1.extend(quote!(Some([#i]) => Some(#name::#case #read),));
            }
            let (write, read) = arms;
            (quote!(match self { #write }), quote!(match from.take(1) { #read _ => None }))
        }
        Data::Union(_) => return Err(syn::Error::new_spanned(name, "a union has no fields to write")),
    };
    let mut generics = input.generics.clone();
    if !generics.params.is_empty() {
        let Data::Struct(data) = &input.data else {
            return Err(syn::Error::new_spanned(name, "an enum with parameters"));
        };
        let conditions = &mut generics.make_where_clause().predicates;
        for field in &data.fields {
            let ty = &field.ty;
            conditions.push(parse_quote!(#ty: crate::stored::Stored));
        }
    }
    let (_, arguments, _) = input.generics.split_for_impl();
    let (parameters, _, conditions) = generics.split_for_impl();
    Ok(quote! {
        impl #parameters crate::stored::Stored for #name #arguments #conditions {
            #[allow(unused_variables)]
            fn write(&self, to: &mut Vec<u8>) {
                #write
            }

            #[allow(unused_variables)]
            fn read(from: &mut crate::stored::Reader<'_>) -> Option<Self> {
                #read
            }
        }
        #registered
    })
}

/// A pattern that takes the fields apart, what writes them, and what reads them.
fn fields(fields: &Fields) -> (Tokens, Tokens, Tokens) {
    let (mut pattern, mut write, mut read) = (quote!(), quote!(), quote!());
    for (i, field) in fields.iter().enumerate() {
        let member = field.ident.as_ref().map_or(Index::from(i).to_token_stream(), Ident::to_token_stream);
        let variable = format_ident!("field_{}", i);
        pattern.extend(quote!(#member: #variable,));
        write.extend(quote!(crate::stored::Stored::write(#variable, to);));
        read.extend(quote!(#member: crate::stored::Stored::read(from)?,));
    }
    (quote!({ #pattern }), write, quote!({ #read }))
}

/// What makes an op known to files: `#[stored(op)]`, or `#[stored(in Family)]` for a member of a generic family of ops.
fn registration(input: &DeriveInput) -> syn::Result<Tokens> {
    let (name, mut all) = (&input.ident, quote!());
    for attribute in input.attrs.iter().filter(|a| a.path().is_ident("stored")) {
        attribute.parse_args_with(|options: syn::parse::ParseStream<'_>| {
            let (title, op) = if options.parse::<Option<Token![in]>>()?.is_some() {
                let family: Path = options.parse()?;
                (format!("{}({name})", family.to_token_stream()), quote!(#family<#name>))
            } else {
                let word: Ident = options.parse()?;
                if word != "op" {
                    return Err(syn::Error::new(word.span(), "`op` or `in Family`"));
                }
                (name.to_string(), name.to_token_stream())
            };
            // Another layout of the fields is another op.
            let layout: Vec<String> = match &input.data {
                Data::Struct(data) => {
                    data.fields.iter().map(|f| f.ty.to_token_stream().to_string()).collect()
                }
                _ => vec![],
            };
            let title = format!("{title} {}", layout.join(", ").replace(' ', ""));
            let title = title.trim_end();
            all.extend(quote!(crate::graph::stored_op!(#title => #op);));
            Ok(())
        })?;
    }
    Ok(all)
}

#!/bin/sh
# Collects an interpreter, its standard library, NumPy, a wheel and the libraries that these need in an empty folder:
# sh bundle.sh WHEEL FOLDER. The folder is the whole file system of a container.
set -eu
wheel=$1
root=$2
python=$(command -v "${PYTHON:-python3}")
version=$("$python" -c 'import sys; print(f"python{sys.version_info[0]}.{sys.version_info[1]}")')
prefix=$("$python" -c 'import sys; print(sys.base_prefix)')

mkdir -p "$root/usr/bin" "$root/usr/lib" "$root/app" "$root/tmp"
cp "$(readlink -f "$prefix/bin/$version")" "$root/usr/bin/python3"
cp -r "$prefix/lib/$version" "$root/usr/lib/"
cd "$root/usr/lib/$version"
# Neither the interpreter nor a server needs these.
rm -rf site-packages test idlelib tkinter turtledemo turtle.py ensurepip lib2to3 pydoc_data config-* lib-dynload/_test*
find . -name __pycache__ -prune -exec rm -rf {} +
cd - > /dev/null
"$python" -m pip install --quiet --no-compile --target "$root/usr/lib/$version/site-packages" "$wheel"
cd "$root/usr/lib/$version/site-packages"
rm -rf bin numpy/*/tests numpy/tests numpy/f2py numpy/_core/include numpy/_core/lib numpy/testing/tests ./*/tests
find . -name '*.pyi' -delete -o -name '*.a' -delete
cd - > /dev/null

# The shared libraries that the interpreter and the extensions are linked to, and the loader.
find "$root" \( -name '*.so*' -o -name python3 \) -type f | while read -r file; do
    ldd "$file" 2> /dev/null | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p; s/^[[:space:]]*\(\/[^ ]*\) (.*/\1/p'
done | sort -u | while read -r library; do
    case $library in
        "$root"/*) ;;
        *)
            mkdir -p "$root$(dirname "$library")"
            cp -nL "$library" "$root$library"
            ;;
    esac
done
# The interpreter has symbols for debuggers. Libraries of wheels must stay as they are.
if command -v strip > /dev/null; then
    find "$root" -path '*/site-packages' -prune -o \( -name '*.so*' -o -name python3 \) -type f -exec strip --strip-unneeded {} + 2> /dev/null || true
fi
du -sh "$root"

"""Looks at the machine code of loops that multiply registers: ``python -m tests.project.microkernels LIBRARY``.

Such a loop calls nothing, in any profile: what a build does not inline is compiled for the weakest processor, and a
call of it takes longer than the product. What asks whether somebody has pressed Ctrl-C is called once in thousands of
steps. The library has the names of its functions, as that of ``make dev`` has.
"""

from __future__ import annotations

import functools
import re
import subprocess
import sys
from collections.abc import Iterator

#: The functions whose loops are looked at: at least one function of the library has each of these in its name.
NAMES = ("matmul::tile", "conv::tiles", "matmul::integers", "matmul::product::streamed")

#: What a loop may call.
ALLOWED = "interrupt::"

#: What an instruction is, and what it has as operands.
LINE = re.compile(r"^\s*([0-9a-f]+):\s+(\S+)\s*(.*)$")
MULTIPLIES = re.compile(r"^v?(fn?m(add|sub)\w*p[sd]|mulp[sd]|pmul\w+)$")


def functions(library: str) -> Iterator[tuple[str, list[tuple[int, str, str]]]]:
    """The names of functions, and their instructions: address, name and operands."""
    command = ["objdump", "--disassemble", "--demangle", "--no-show-raw-insn", "--section=.text", library]
    name, code = "", list[tuple[int, str, str]]()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            if line.endswith(">:\n"):
                yield name, code
                name, code = line.partition("<")[2][:-3], []
            elif found := LINE.match(line):
                code.append((int(found[1], 16), found[2], found[3]))
    yield name, code
    if process.returncode:
        sys.exit(process.returncode)


@functools.cache
def names(library: str) -> dict[int, str]:
    """The names of the library's functions by address."""
    lines = subprocess.run(["nm", "--demangle", library], capture_output=True, text=True, check=True).stdout
    found = (re.match(r"([0-9a-f]+) \w (.*)$", line) for line in lines.splitlines())
    return {int(line[1], 16): line[2] for line in found if line}


def callee(library: str, operands: str) -> str:
    """The name of what is called, also where the address stands in a table."""
    slot = re.search(r"# ([0-9a-f]+)", operands)
    if not slot:
        return operands
    start = int(slot[1], 16)
    command = ["objdump", "--full-contents", f"--start-address={start}", f"--stop-address={start + 8}", library]
    words = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[-1].split()[1:3]
    address = int.from_bytes(bytes.fromhex("".join(words)), "little")
    return names(library).get(address, operands)


def calls_in_loops(code: list[tuple[int, str, str]]) -> list[str]:
    """What the innermost loops of a function call that multiply registers."""
    loops = []
    for address, instruction, operands in code:
        target = operands.split(" ")[0]
        if instruction.startswith("j") and re.fullmatch("[0-9a-f]+", target) and int(target, 16) <= address:
            loops.append((int(target, 16), address))
    found = []
    for start, end in loops:
        if any(start <= inner and last <= end and (start, end) != (inner, last) for inner, last in loops):
            continue
        body = [(name, operands) for address, name, operands in code if start <= address <= end]
        if any(MULTIPLIES.match(name) for name, _ in body):
            found += [operands for name, operands in body if name.startswith("call")]
    return found


def main() -> None:
    """Prints the calls, and exits with 1 if there are any or a function is missing."""
    seen, wrong = dict.fromkeys(NAMES, 0), []
    for name, code in functions(sys.argv[1]):
        for wanted in (wanted for wanted in NAMES if wanted in name):
            seen[wanted] += any(MULTIPLIES.match(instruction) for _, instruction, _ in code)
            called = {callee(sys.argv[1], operands) for operands in calls_in_loops(code)}
            wrong += [f"{name}: calls {other}" for other in sorted(called) if ALLOWED not in other]
    wrong += [f"no function with {name} in its name multiplies" for name, count in seen.items() if not count]
    print("\n".join(wrong) or f"no loop that multiplies calls anything: {seen}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()

"""A table as LaTeX that pdflatex compiles with booktabs alone, whatever characters foreign text holds."""

from __future__ import annotations

import unicodedata

from longbanana_nb.reporting.table import Cell, Row, Table

SPECIALS = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
    '"': "''", "`": r"\textasciigrave{}", "[": "{[}", "]": "{]}", "*": "{*}", "\n": " ", "\t": " ", "\r": " ",
}  # fmt: skip
SYMBOLS = {
    "–": "--", "—": "---", "‘": "`", "’": "'", "“": "``", "”": "''", "…": r"\dots{}", "±": r"$\pm$", "×": r"$\times$",
    "≥": r"$\geq$", "≤": r"$\leq$", "→": r"$\rightarrow$", "·": r"$\cdot$", "−": r"$-$", "†": r"$\dagger$", "‡": r"$\ddagger$",
    "¶": r"\P{}", "§": r"\S{}", "\u00a0": "~", "\u2009": r"\,", "\u202f": r"\,", "ß": r"\ss{}", "æ": r"\ae{}", "Æ": r"\AE{}",
    "ø": r"\o{}", "Ø": r"\O{}", "å": r"\aa{}", "Å": r"\AA{}", "œ": r"\oe{}", "Œ": r"\OE{}", "ł": r"\l{}", "Ł": r"\L{}",
    "ı": r"\i{}",
}  # fmt: skip
ACCENTS = {
    "\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u", "\u0307": ".", "\u0308": '"',
    "\u030b": "H", "\u030c": "v", "\u0327": "c",
}  # fmt: skip
SIGNS = {
    "provisional": r"\ast", "simulated": r"\dagger", "privileged": r"\ddagger", "unsandboxed": r"\P",
}  # fmt: skip
ALIGN = {"left": "l", "center": "c", "right": "r"}


def escape(text: str) -> str:
    """Foreign text as LaTeX text: special characters lose their meaning, letters with accents are composed, and a character
    that the standard fonts lack is named by its code (`U+1F34C`)."""
    plain = unicodedata.normalize("NFC", text)
    # two hyphens or two quotes in a row would be joined into one sign
    return "".join(
        _letter(letter) + ("{}" if letter in "-'," and plain[place + 1 : place + 2] == letter else "")
        for place, letter in enumerate(plain)
    )


def render(table: Table) -> str:
    """The table as a `table*` float with caption, label and notes."""
    shape = "".join(ALIGN[column.align] for column in table.columns)
    notes = "".join(f"{escape(line)}\\\\\n" for line in table.legend())
    footer = (
        f"\\par\\smallskip\n\\begin{{minipage}}{{\\textwidth}}\\raggedright\\scriptsize\n{notes}\\end{{minipage}}\n"
        if notes
        else ""
    )
    return (
        f"% needs \\usepackage{{booktabs}}\n\\begin{{table*}}[t]\n\\centering\n\\caption{{{escape(table.title)}}}\n"
        f"\\label{{tab:{_label(table.name)}}}\n\\scriptsize\n\\setlength{{\\tabcolsep}}{{2.5pt}}\n"
        f"\\begin{{tabular}}{{@{{}}{shape}@{{}}}}\n\\toprule\n{_head(table)}\\midrule\n{_bodies(table)}\\bottomrule\n\\end{{tabular}}\n"
        f"{footer}\\end{{table*}}\n"
    )


def _head(table: Table) -> str:
    lines = []
    if any(label is not None for label, _ in table.spans()):
        cells, rules, place = [], [], 1
        for label, width in table.spans():
            cells.append("" if label is None else f"\\multicolumn{{{width}}}{{c}}{{{escape(label)}}}")
            if label is not None:
                rules.append(f"\\cmidrule(lr){{{place}-{place + width - 1}}}")
            place += width
        lines.append(" & ".join(cells) + " \\\\\n" + " ".join(rules) + "\n")
    lines.append(" & ".join(escape(column.label) for column in table.columns) + " \\\\\n")
    return "".join(lines)


def _bodies(table: Table) -> str:
    parts = []
    for place, group in enumerate(table.groups):
        if place:
            parts.append("\\midrule\n")
        if group.label:
            parts.append(f"\\multicolumn{{{len(table.columns)}}}{{@{{}}l}}{{\\textit{{{escape(group.label)}}}}} \\\\\n")
        parts.extend(_row(row) for row in group.rows)
    return "".join(parts)


def _row(row: Row) -> str:
    return " & ".join(_cell(cell) for cell in row.cells) + " \\\\\n"


def _cell(cell: Cell) -> str:
    text = escape(cell.text)
    if cell.number and text.startswith("-"):
        text = f"$-${text[1:]}"
    if cell.missing and len(cell.text) > 3:
        text = f"{{\\tiny {text}}}"
    if cell.mark:
        text = f"\\textbf{{{text}}}" if cell.mark == "best" else f"\\underline{{{text}}}"
    signs = "".join(SIGNS[flag] for flag in cell.flags)
    return f"{text}$^{{{signs}}}$" if signs else text


def _label(name: str) -> str:
    return "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in name)


def _letter(letter: str) -> str:
    if letter in SPECIALS:
        return SPECIALS[letter]
    if letter in SYMBOLS:
        return SYMBOLS[letter]
    if " " <= letter <= "~":
        return letter
    parts = unicodedata.normalize("NFD", letter)
    if len(parts) == 2 and parts[0].isascii() and parts[0].isalpha() and parts[1] in ACCENTS:
        base = {"i": r"\i", "j": r"\j"}.get(parts[0], parts[0])
        return f"\\{ACCENTS[parts[1]]}{{{base}}}"
    return f"\\texttt{{U+{ord(letter):04X}}}"

"""How a table is written for each reader: HTML, LaTeX, Markdown, CSV; each sink escapes foreign text in its own way."""

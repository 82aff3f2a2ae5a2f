/** Writes a page for people, whose head all pages have alike. */

/** The document. `head` and `body` are HTML. */
export const of = ({ body, head, title }: { readonly title: string; readonly head: string; readonly body: string }) =>
  `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
${head}
</head>
<body>
${body}
</body>
</html>
`

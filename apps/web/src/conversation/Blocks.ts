/** Cuts a Markdown text that is arriving into blocks, so that a delta changes only the last one. Pure. */

/**
 * The blocks of a text, in order; joined they are the text.
 *
 * **Details**
 *
 * A cut is behind blank lines, outside of fenced code, before a line that begins at the margin: such a line cannot continue a list's entry. A
 * longer text has the same blocks, except for the last one.
 */
export const split = (text: string): ReadonlyArray<string> => {
  const blocks: Array<string> = []
  let from = 0
  let fence: string | undefined = undefined
  let isAfterBlank = false
  let at = 0
  while (at < text.length) {
    const end = text.indexOf("\n", at)
    const next = end === -1 ? text.length : end + 1
    const line = text.slice(at, end === -1 ? text.length : end)
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1]
    if (fence === undefined) {
      // An unfinished line may still become anything.
      if (isAfterBlank && at > from && end !== -1 && /^\S/.test(line)) {
        blocks.push(text.slice(from, at))
        from = at
      }
      if (mark !== undefined) fence = mark
    } else if (mark !== undefined && mark[0] === fence[0] && mark.length >= fence.length && line.trim() === mark) {
      fence = undefined
    }
    isAfterBlank = fence === undefined && line.trim() === ""
    at = next
  }
  if (from < text.length) blocks.push(text.slice(from))
  return blocks
}

/**
 * Reads the `Prefer` header of a request (RFC 7240).
 *
 * Prefer.R1. A preference is a wish: an unknown, malformed or repeated one is ignored, and the others count.
 * Prefer.R2. The work grows with the length of the header and not faster: clients write it.
 */

import { TurnsGroup } from "@holdfast/wire/api"

/**
 * Whether a header asks for an answer as soon as the request is accepted (RFC 7240, section 4.1). `respond-async` takes no value, so with a
 * value it is another preference.
 */
export const isAsync = (header: string | undefined): boolean =>
  header !== undefined && parse(header).get(TurnsGroup.RESPOND_ASYNC) === ""

/**
 * Preferences by their names in lower case, with their values; an empty value is the same as none.
 *
 * **Details**
 *
 * Node joins several headers with commas, as the RFC has it. Of a preference that comes twice the first counts. Parameters behind a
 * semicolon are left out: no preference that Holdfast knows has any.
 */
export const parse = (header: string): ReadonlyMap<string, string> => {
  const preferences = new Map<string, string>()
  for (const element of split(header, ",")) {
    const [preference = ""] = split(element, ";")
    const [, name, token, quoted] = PREFERENCE.exec(preference.trim()) ?? []
    if (name === undefined || preferences.has(name.toLowerCase())) continue // R1
    preferences.set(name.toLowerCase(), token ?? quoted?.replaceAll(/\\(.)/g, "$1") ?? "")
  }
  return preferences
}

// --- internal

/** A name, and a value as a token or as a quoted string; both may have blanks around the equals sign. */
const PREFERENCE = /^([!#$%&'*+.^_`|~\w-]+)(?:[ \t]*=[ \t]*(?:([!#$%&'*+.^_`|~\w-]+)|"((?:[^"\\]|\\.)*)")?)?$/

/** The parts of a text between separators that stand in no quoted string (R2). */
const split = (text: string, separator: string): ReadonlyArray<string> => {
  const parts: Array<string> = []
  let begin = 0
  let isQuoted = false
  for (let i = 0; i < text.length; i++) {
    const character = text[i]
    if (isQuoted && character === "\\") i++
    else if (character === '"') isQuoted = !isQuoted
    else if (character === separator && !isQuoted) {
      parts.push(text.slice(begin, i))
      begin = i + 1
    }
  }
  parts.push(text.slice(begin))
  return parts
}

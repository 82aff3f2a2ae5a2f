/**
 * Reads the `Prefer` header of a request (RFC 7240).
 *
 * Prefer.R1. A preference is optional: an unknown, malformed or repeated one is ignored, and the others count.
 * Prefer.R2. The work grows in proportion to the length of the header, because clients write it.
 */

import { TurnsGroup } from "@holdfast/wire/api"

/**
 * Whether a header asks for an answer as soon as the request is accepted (RFC 7240, section 4.1). `respond-async` takes no value; with a
 * value it counts as an unknown preference.
 */
export const isAsync = (header: string | undefined): boolean =>
  header !== undefined && parse(header).get(TurnsGroup.RESPOND_ASYNC) === ""

/**
 * Preferences with their values, by name in lower case. An empty value equals no value.
 *
 * **Details**
 *
 * Node joins several headers with commas, as the RFC requires. If a preference is repeated, the first one counts. Parameters after a
 * semicolon are left out: no preference that Holdfast supports has any.
 */
export const parse = (header: string): ReadonlyMap<string, string> => {
  const preferences = new Map<string, string>()
  for (const element of split(header, ",")) {
    const [preference = ""] = split(element, ";")
    const [, name, token, quoted] = PREFERENCE.exec(preference.trim()) ?? []
    if (name === undefined || preferences.has(name.toLowerCase())) continue // Prefer.R1
    preferences.set(name.toLowerCase(), token ?? quoted?.replaceAll(/\\(.)/g, "$1") ?? "")
  }
  return preferences
}

// --- internal

/** A name with an optional value: a token or a quoted string. Blanks may surround the equals sign. */
const PREFERENCE = /^([!#$%&'*+.^_`|~\w-]+)(?:[ \t]*=[ \t]*(?:([!#$%&'*+.^_`|~\w-]+)|"((?:[^"\\]|\\.)*)")?)?$/

/** Splits a text at separators that are outside quoted strings (Prefer.R2). */
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

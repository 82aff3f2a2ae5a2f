/**
 * Reads how a client wants its answer: the representation by `Accept` (RFC 9110, section 12.5.1), preferences by `Prefer` (RFC 7240).
 *
 * Clients write these headers: the work grows in proportion to their length.
 */
import { TurnsGroup } from "@holdfast/wire/api"

/**
 * The offer that an `Accept` header prefers; the first offer if the header is absent or accepts no offer.
 *
 * **Details**
 *
 * A higher `q` wins; among equals the offer that the client names exactly, then the offer it names first. `q=0` rules an offer out.
 * A client that accepts none of the offers gets the first one all the same: it may understand it, and that is better than no
 * answer.
 */
export const choose = <const Offers extends readonly [string, ...Array<string>]>(
  accept: string | undefined,
  offers: Offers
): Offers[number] => {
  let chosen: { readonly offer: Offers[number]; readonly rank: number } | undefined
  for (const offer of offers) {
    const rank = accept === undefined ? 0 : rankOf(accept, offer)
    if (rank > 0 && (chosen === undefined || rank > chosen.rank)) chosen = { offer, rank }
  }
  return chosen?.offer ?? offers[0]
}

/**
 * Whether a header asks for an answer as soon as the request is accepted (RFC 7240, section 4.1). `respond-async` takes no value; with a
 * value it counts as an unknown preference.
 */
export const isAsync = (header: string | undefined): boolean =>
  header !== undefined && preferencesOf(header).get(TurnsGroup.RESPOND_ASYNC) === ""

/**
 * Preferences with their values, by name in lower case. An empty value equals no value.
 *
 * **Details**
 *
 * Node joins several headers with commas, as the RFC requires. If a preference is repeated, the first one counts. Parameters after a
 * semicolon are left out: no preference that Holdfast supports has any.
 */
export const preferencesOf = (header: string): ReadonlyMap<string, string> => {
  const preferences = new Map<string, string>()
  for (const element of splitAt(header, ",")) {
    const [preference = ""] = splitAt(element, ";")
    const [, name, token, quoted] = PREFERENCE.exec(preference.trim()) ?? []
    if (name === undefined || preferences.has(name.toLowerCase())) continue // a preference is optional
    preferences.set(name.toLowerCase(), token ?? quoted?.replaceAll(/\\(.)/g, "$1") ?? "")
  }
  return preferences
}

// --- internal

/** 0 for an offer that the client rejects. Otherwise `q`; its last digits rank how exactly and how early the offer was named. */
const rankOf = (accept: string, offer: string): number => {
  const [type] = offer.split("/")
  let best = { specificity: 0, rank: 0 }
  for (const [index, part] of accept.split(",").entries()) {
    const [range = "", ...parameters] = part.split(";").map((text) => text.trim().toLowerCase())
    const specificity = range === offer ? 3 : range === `${type}/*` ? 2 : range === "*/*" ? 1 : 0
    if (specificity <= best.specificity) continue
    const q = Number(parameters.find((parameter) => parameter.startsWith("q="))?.slice(2) ?? 1)
    // The most exact range that matches decides, even if it rejects the offer.
    best = { specificity, rank: q > 0 ? q + specificity * 1e-6 - Math.min(index, 999) * 1e-9 : 0 }
  }
  return best.rank
}

/** A name with an optional value: a token or a quoted string. Blanks may surround the equals sign. */
const PREFERENCE = /^([!#$%&'*+.^_`|~\w-]+)(?:[ \t]*=[ \t]*(?:([!#$%&'*+.^_`|~\w-]+)|"((?:[^"\\]|\\.)*)")?)?$/

/** Splits a text at separators that are outside quoted strings. */
const splitAt = (text: string, separator: string): ReadonlyArray<string> => {
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

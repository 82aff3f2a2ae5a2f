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
  accept = "",
  offers: Offers
): Offers[number] => {
  let chosen: { readonly offer: Offers[number]; readonly rank: number } = { offer: offers[0], rank: 0 }
  for (const offer of offers) {
    const rank = rankOf(accept, offer)
    if (rank > chosen.rank) chosen = { offer, rank }
  }
  return chosen.offer
}

/**
 * Whether a header asks for an answer as soon as the request is accepted (RFC 7240, section 4.1). `respond-async` takes no value, and an empty one
 * equals none; with a value it counts as an unknown preference. An unknown or malformed preference is ignored, of a repeated one the first counts.
 */
export const isAsync = (header = ""): boolean => {
  const found = ASYNC.exec(header.replaceAll(QUOTED, (text) => (text === '""' ? "" : '"')))
  return found !== null && (found[1] ?? "") === ""
}

// --- internal

/** 0 for an offer that the client rejects. Otherwise `q`; its last digits rank how exactly and how early the offer was named. */
const rankOf = (accept: string, offer: string): number => {
  const [type] = offer.split("/")
  let best = { specificity: 0, rank: 0 }
  for (const [index, part] of accept.split(",").entries()) {
    const [range = "", ...parameters] = part.split(";").map((text) => text.trim().toLowerCase())
    const specificity = ["*/*", `${type}/*`, offer].indexOf(range) + 1
    if (specificity <= best.specificity) continue
    const q = Number(parameters.find((parameter) => parameter.startsWith("q="))?.slice(2) ?? 1)
    // The most exact range that matches decides, even if it rejects the offer.
    best = { specificity, rank: q > 0 ? q + specificity * 1e-5 - index * 1e-10 : 0 }
  }
  return best.rank
}

/** A text in quotes. Without its second quote it reaches to the end of the header. */
const QUOTED = /"(?:[^"\\]|\\.)*(?:"|\\?$)/gs

/** The preference, with its value, up to the next one or to its parameters. Blanks may surround the equals sign. */
const ASYNC = new RegExp(
  `(?:^|,)[ \\t]*${TurnsGroup.RESPOND_ASYNC}[ \\t]*(?:=[ \\t]*(?:([^,; \\t]+)[ \\t]*)?)?(?:$|[,;])`,
  "i"
)

/** Which of the representations that a call has a client wants (RFC 9110, section 12.5.1). */

/**
 * The offer that an `Accept` header prefers; the first one where it says nothing, or nothing that is on offer.
 *
 * **Details**
 *
 * A higher `q` wins; among equals the one that the client names outright, then the one it names first. `q=0` rules an
 * offer out. A client that wants nothing of what there is gets the first offer all the same: an answer that it may
 * understand is better than none.
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

// --- internal

/** 0 for an offer that is not wanted; otherwise `q`, and in its last digits how exactly and how early it was named. */
const rankOf = (accept: string, offer: string): number => {
  const [type] = offer.split("/")
  let best = { specificity: 0, rank: 0 }
  for (const [index, part] of accept.split(",").entries()) {
    const [range = "", ...parameters] = part.split(";").map((text) => text.trim().toLowerCase())
    const specificity = range === offer ? 3 : range === `${type}/*` ? 2 : range === "*/*" ? 1 : 0
    if (specificity <= best.specificity) continue
    const q = Number(parameters.find((parameter) => parameter.startsWith("q="))?.slice(2) ?? 1)
    // The most exact range that matches decides, even where it says no.
    best = { specificity, rank: q > 0 ? q + specificity * 1e-6 - Math.min(index, 999) * 1e-9 : 0 }
  }
  return best.rank
}

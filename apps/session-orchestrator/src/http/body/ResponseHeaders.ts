/** The headers that responses carry, whatever they are about. */

/** On every response: what it says is meant for this client now, is what its type says, and leads nowhere. */
export const all = {
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY"
} as const

/** On responses that take their time: proxies must pass on each write as it comes (nginx's own header). */
export const live = { ...all, "x-accel-buffering": "no" } as const

/** On a page: it may use what `sources` allow, and nothing else. */
export const page = (sources: string) =>
  ({
    ...all,
    "content-security-policy": `default-src 'none'; ${sources}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`
  }) as const

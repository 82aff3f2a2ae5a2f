/** The common headers of responses. */

/** On every response: do not store it, do not guess another content type, send no referrer, show it in no frame. */
export const all = {
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY"
} as const

/**
 * On every answer from below `/to/`: a provider's document has no origin, runs nothing and loads nothing, whatever its own headers are. Those are
 * left out (`gateway/Headers.ts`).
 */
export const provider = {
  ...all,
  "content-security-policy": "sandbox; default-src 'none'; frame-ancestors 'none'"
} as const

/** On responses that stream: a proxy must pass on each write at once (nginx's header). */
export const live = { ...all, "x-accel-buffering": "no" } as const

/** On a page: its content security policy allows `sources` and nothing else. */
export const page = (sources: string) =>
  ({
    ...all,
    "content-security-policy": `default-src 'none'; ${sources}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`
  }) as const

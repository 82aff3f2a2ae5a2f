/**
 * The provider for Google's Gemini API, and for Gemini on Vertex AI.
 *
 * The format's quirks are in `gemini/Request.ts` and `gemini/Response.ts`; one attempt over HTTP is in `transport/HttpAttempt.ts`.
 */
import * as Request from "./gemini/Request.ts"
import * as Response from "./gemini/Response.ts"
import type * as Endpoint from "./http/Endpoint.ts"
import * as Transport from "./Transport.ts"

/**
 * `baseUrl` is the part before `/v1beta/models`, e.g. `https://generativelanguage.googleapis.com`. One with a version in it is the part before
 * `/models`: `https://aiplatform.googleapis.com/v1/projects/<project>/locations/<place>/publishers/google`, with a token in `headers`.
 */
export interface Options extends Endpoint.Options, Request.Options {}

/** Makes a provider. One attempt is one request (C9). */
export const make = (options: Options): Transport.Making =>
  Transport.make(
    { ...options, baseUrl: asEvents(options.baseUrl) },
    {
      pathOf: (model) => pathOf(options.baseUrl, model),
      authorize: (key) => ({ "x-goog-api-key": key }),
      refuses: Request.refuses,
      bodyOf: (request) => Request.make(request, options),
      machineOf: Response.make
    }
  )

// --- internal

/** A version in an address, such as `/v1beta`. */
const VERSION = /\/v\d+(?:alpha|beta)?\d*(?:\/|$)/

const pathOf = (baseUrl: string, model: string): string => {
  const name = encodeURIComponent(model.replace(/^models\//, ""))
  return `${VERSION.test(baseUrl.split("?", 1)[0] ?? "") ? "" : "/v1beta"}/models/${name}:streamGenerateContent`
}

/** Without this the stream is a JSON array. */
const asEvents = (baseUrl: string): string => `${baseUrl}${baseUrl.includes("?") ? "&" : "?"}alt=sse`

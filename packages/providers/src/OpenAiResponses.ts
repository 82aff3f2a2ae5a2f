/**
 * The provider for OpenAI's Responses API.
 *
 * The conversation's state stays with Holdfast: nothing is stored at OpenAI, and a model's encrypted reasoning is sent back to it. The format's
 * quirks are in `responses/Request.ts` and `responses/Response.ts`; one attempt over HTTP is in `Transport.ts`.
 */
import type { Provider } from "@holdfast/kernel"
import * as Effect from "effect/Effect"
import * as Endpoint from "./http/Endpoint.ts"
import { Http } from "./http/Http.ts"
import * as Files from "./responses/Files.ts"
import * as Request from "./responses/Request.ts"
import * as Response from "./responses/Response.ts"
import * as Transport from "./Transport.ts"

/** `baseUrl` is the part before `/responses`, e.g. `https://api.openai.com/v1`. */
export interface Options extends Endpoint.Options, Request.Options {}

/**
 * Makes a provider. One attempt is one request (C9).
 */
export const make = (options: Options): Effect.Effect<Provider.Provider["Service"], never, Http> =>
  Effect.map(Http, (http) => {
    const endpoint = Endpoint.make(http, options, "/responses", (key) => ({ authorization: `Bearer ${key}` }))
    return Transport.provider({
      endpointOf: () => endpoint,
      refuses: Files.refuses,
      bodyOf: (request) => Request.make(request, options),
      machineOf: Response.make
    })
  })

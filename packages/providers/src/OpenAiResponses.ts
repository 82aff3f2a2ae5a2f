/**
 * The provider for OpenAI's Responses API.
 *
 * The conversation's state stays with Holdfast: nothing is stored at OpenAI, and a model's encrypted reasoning is sent back to it. The format's
 * quirks are in `responses/Request.ts` and `responses/Response.ts`; one attempt over HTTP is in `Transport.ts`.
 */
import type { Provider } from "@holdfast/kernel"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Endpoint from "./http/Endpoint.ts"
import { Http } from "./http/Http.ts"
import * as Prompt from "./requests/Prompt.ts"
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
    const { begin } = endpoint
    return {
      stream: (request) => {
        const refused = Request.refusalOf(request)
        if (refused !== undefined) return Stream.fail(refused)
        return Transport.stream({
          conceal: endpoint.conceal,
          post: (scope) => endpoint.post(Request.make(request, options), scope),
          begin: begin && ((world, listener) => begin(Request.make(request, options), world, listener)),
          machine: () => Response.make(Prompt.callId(request)),
          request
        })
      }
    }
  })

/**
 * The provider for Anthropic's Messages API and compatible servers.
 *
 * The format's quirks are in `anthropic/Request.ts` and `anthropic/Response.ts`; one attempt over HTTP is in `Transport.ts`.
 */
import type { Provider } from "@holdfast/kernel"
import * as Effect from "effect/Effect"
import * as Files from "./anthropic/Files.ts"
import * as Request from "./anthropic/Request.ts"
import * as Response from "./anthropic/Response.ts"
import * as Endpoint from "./http/Endpoint.ts"
import { Http } from "./http/Http.ts"
import * as Transport from "./Transport.ts"

/** The version of the API that this adapter was written for. (Claude API documentation, "Versions") */
export const VERSION = "2023-06-01"

/** `baseUrl` is the part before `/v1/messages`, e.g. `https://api.anthropic.com`; a `/v1` at its end is allowed. */
export interface Options extends Endpoint.Options, Request.Options {}

/**
 * Makes a provider. One attempt is one request (C9).
 */
export const make = (options: Options): Effect.Effect<Provider.Provider["Service"], never, Http> =>
  Effect.map(Http, (http) => {
    const path = /\/v1\/*$/.test(options.baseUrl) ? "/messages" : "/v1/messages"
    const endpoint = Endpoint.make(
      http,
      { ...options, headers: { "anthropic-version": VERSION, ...options.headers } },
      path,
      (key) => ({
        "x-api-key": key
      })
    )
    return Transport.provider({
      endpointOf: () => endpoint,
      refuses: Files.refuses,
      bodyOf: (request) => Request.make(request, options),
      machineOf: Response.make
    })
  })

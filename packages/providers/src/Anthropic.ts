/**
 * Anthropic's Messages API, and what imitates it.
 *
 * The format's quirks are in `anthropic/Request.ts` and `anthropic/Response.ts`; one attempt over HTTP is in `Transport.ts`.
 */
import type { Provider } from "@holdfast/kernel"
import { Effect } from "effect"
import { HttpClient } from "effect/http"
import * as Request from "./anthropic/Request.ts"
import * as Response from "./anthropic/Response.ts"
import * as Endpoint from "./Endpoint.ts"
import * as Prompt from "./Prompt.ts"
import * as Transport from "./Transport.ts"

/** The version of the API that this adapter was written for. (Claude API documentation, "Versions") */
export const VERSION = "2023-06-01"

/** `baseUrl` is what comes before `/v1/messages`, e.g. `https://api.anthropic.com`; a `/v1` at its end does no harm. */
export interface Options extends Endpoint.Options, Request.Options {}

/**
 * Makes a provider.
 *
 * **Gotchas**
 *
 * One attempt is one request (C9) as long as the client given retries nothing itself; redirects are not followed.
 */
export const make = (options: Options): Effect.Effect<Provider.Provider["Service"], never, HttpClient.HttpClient> =>
  Effect.map(HttpClient.HttpClient, (client) => {
    const path = /\/v1\/*$/.test(options.baseUrl) ? "/messages" : "/v1/messages"
    const endpoint = Endpoint.make(
      { ...options, headers: { "anthropic-version": VERSION, ...options.headers } },
      path,
      (key) => ({
        "x-api-key": key
      })
    )
    return {
      stream: (request) =>
        Transport.stream({
          client,
          conceal: endpoint.conceal,
          request: () => endpoint.request(Request.make(request, options)),
          machine: () => Response.make(Prompt.callId(request))
        })
    }
  })

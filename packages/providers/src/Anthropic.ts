/**
 * The provider for Anthropic's Messages API and compatible servers.
 *
 * The format's quirks are in `anthropic/Request.ts` and `anthropic/Response.ts`; one attempt over HTTP is in `transport/HttpAttempt.ts`.
 */
import * as Request from "./anthropic/Request.ts"
import * as Response from "./anthropic/Response.ts"
import type * as Endpoint from "./http/Endpoint.ts"
import * as Transport from "./Transport.ts"

/** The version of the API that this adapter was written for. (Claude API documentation, "Versions") */
export const VERSION = "2023-06-01"

/** `baseUrl` is the part before `/v1/messages`, e.g. `https://api.anthropic.com`; a `/v1` at its end is allowed. */
export interface Options extends Endpoint.Options, Request.Options {}

/** Makes a provider. One attempt is one request (C9). */
export const make = (options: Options): Transport.Making =>
  Transport.make(
    { ...options, headers: { "anthropic-version": VERSION, ...options.headers } },
    {
      pathOf: () => (/\/v1\/*$/.test(options.baseUrl) ? "/messages" : "/v1/messages"),
      authorize: (key) => ({ "x-api-key": key }),
      refuses: Request.refuses,
      bodyOf: (request) => Request.make(request, options),
      machineOf: Response.make
    }
  )

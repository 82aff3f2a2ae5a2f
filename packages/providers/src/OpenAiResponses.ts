/**
 * The provider for OpenAI's Responses API.
 *
 * The conversation's state stays with Holdfast: nothing is stored at OpenAI, and a model's encrypted reasoning is sent back to it. The format's
 * quirks are in `responses/Request.ts` and `responses/Response.ts`; one attempt over HTTP is in `transport/HttpAttempt.ts`.
 */
import type * as Endpoint from "./http/Endpoint.ts"
import * as Request from "./responses/Request.ts"
import * as Response from "./responses/Response.ts"
import * as Transport from "./Transport.ts"

/** `baseUrl` is the part before `/responses`, e.g. `https://api.openai.com/v1`. */
export interface Options extends Endpoint.Options, Request.Options {}

/** Makes a provider. One attempt is one request (C9). */
export const make = (options: Options): Transport.Making =>
  Transport.make(options, {
    pathOf: () => "/responses",
    authorize: Transport.bearer,
    refuses: Request.refuses,
    bodyOf: (request) => Request.make(request, options),
    machineOf: Response.make
  })

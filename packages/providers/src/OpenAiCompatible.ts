/**
 * The provider for OpenAI's chat completions and compatible servers.
 *
 * Compatible servers are those of DeepSeek, xAI, Groq, Mistral, OpenRouter and Azure, vLLM, Ollama and others.
 *
 * The format's quirks are in `openai/Request.ts` and `openai/Response.ts`; one attempt over HTTP is in `transport/HttpAttempt.ts`.
 */
import type * as Endpoint from "./http/Endpoint.ts"
import * as Request from "./openai/Request.ts"
import * as Response from "./openai/Response.ts"
import * as Transport from "./Transport.ts"

/** `baseUrl` is the part before `/chat/completions`, e.g. `https://api.openai.com/v1`. */
export interface Options extends Endpoint.Options, Request.Options {}

/** Makes a provider. One attempt is one request (C9). */
export const make = (given: Options): Transport.Making => {
  const options = { reasoningField: Request.reasoningFieldOf(given.baseUrl), ...given }
  return Transport.make(options, {
    pathOf: () => "/chat/completions",
    authorize: Transport.bearer,
    refuses: Request.refuses,
    bodyOf: (request) => Request.make(request, options),
    machineOf: Response.make
  })
}

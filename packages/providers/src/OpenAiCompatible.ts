/**
 * The provider for OpenAI's chat completions and compatible servers.
 *
 * Compatible servers are those of DeepSeek, xAI, Groq, Mistral, OpenRouter and Azure, vLLM, Ollama and others.
 *
 * The format's quirks are in `openai/Request.ts` and `openai/Response.ts`; one attempt over HTTP is in `Transport.ts`.
 */
import type { Provider } from "@holdfast/kernel"
import * as Effect from "effect/Effect"
import * as Endpoint from "./http/Endpoint.ts"
import * as Files from "./openai/Files.ts"
import * as Request from "./openai/Request.ts"
import * as Response from "./openai/Response.ts"
import { Http } from "./http/Http.ts"
import * as Transport from "./Transport.ts"

/** `baseUrl` is the part before `/chat/completions`, e.g. `https://api.openai.com/v1`. */
export interface Options extends Endpoint.Options, Request.Options {}

/**
 * Makes a provider. One attempt is one request (C9).
 */
export const make = (given: Options): Effect.Effect<Provider.Provider["Service"], never, Http> =>
  Effect.map(Http, (http) => {
    const options = { reasoningField: Request.reasoningFieldOf(given.baseUrl), ...given }
    const endpoint = Endpoint.make(http, options, "/chat/completions", (key) => ({ authorization: `Bearer ${key}` }))
    return Transport.provider({
      endpointOf: () => endpoint,
      refuses: Files.refuses,
      bodyOf: (request) => Request.make(request, options),
      machineOf: Response.make
    })
  })

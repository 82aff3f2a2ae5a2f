/**
 * The provider for OpenAI's chat completions and compatible servers.
 *
 * Compatible servers are those of DeepSeek, xAI, Groq, Mistral, OpenRouter and Azure, vLLM, Ollama and others.
 *
 * The format's quirks are in `openai/Request.ts` and `openai/Response.ts`; one attempt over HTTP is in `Transport.ts`.
 */
import type { Provider } from "@holdfast/kernel"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Endpoint from "./http/Endpoint.ts"
import * as Request from "./openai/Request.ts"
import * as Response from "./openai/Response.ts"
import { Http } from "./http/Http.ts"
import * as Prompt from "./requests/Prompt.ts"
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

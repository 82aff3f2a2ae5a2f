/**
 * Chat completions, as OpenAI defined them and DeepSeek, xAI, Groq, Mistral, OpenRouter, Azure, vLLM, Ollama and others speak them.
 *
 * The format's quirks are in `openai/Request.ts` and `openai/Response.ts`; one attempt over HTTP is in `Transport.ts`.
 */
import type { Provider } from "@holdfast/kernel"
import { Effect } from "effect"
import { HttpClient } from "effect/http"
import * as Endpoint from "./Endpoint.ts"
import * as Request from "./openai/Request.ts"
import * as Response from "./openai/Response.ts"
import * as Prompt from "./Prompt.ts"
import * as Transport from "./Transport.ts"

/** `baseUrl` is what comes before `/chat/completions`, e.g. `https://api.openai.com/v1`. */
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
    const endpoint = Endpoint.make(options, "/chat/completions", (key) => ({ authorization: `Bearer ${key}` }))
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

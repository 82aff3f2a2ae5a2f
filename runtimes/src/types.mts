/** A user's program that imports every entry of the packages: `main.ts` checks its types as installed. It is never run. */
import { ClientError, ConversationView, HoldfastClient } from "@holdfast/client"
import { RpcClient } from "@holdfast/client/stdio"
import * as EffectClient from "@holdfast/client/effect"
import { holdfast as patient, model as modelOf } from "@holdfast/ai-sdk"
import { Patience, Turn } from "@holdfast/kernel"
import { holdfast as patientLayer, model as languageModel, provider as portOf } from "@holdfast/effect-ai"
import { holdfast as patientChatModel } from "@holdfast/langchain"
import { holdfast as patientModel } from "@holdfast/openai-agents"
import { Profile, RetryStrategies } from "@holdfast/policy"
import { FromAsyncIterable, Http, OpenAiCompatible } from "@holdfast/providers"
import { TurnEvent } from "@holdfast/wire"
import { holdfast, memoryStore, tool, type TurnEvent as PlainEvent } from "holdfast"
import { sqliteStore } from "holdfast/sqlite"

const hf = holdfast({
  model: async function* ({ messages }) {
    yield `${messages.length}`
  },
  retry: { profile: "overnight", maxRetries: 3 },
  store: process.argv[2] === undefined ? memoryStore() : sqliteStore(process.argv[2]),
  tools: { weather: tool({ parse: () => ({ city: "Bergen" }), execute: ({ city }) => city }) }
})
const turn = hf.turn("Hello", { signal: AbortSignal.timeout(1_000) })
for await (const event of turn) {
  const typed: PlainEvent = event
  if (typed.type === "provider-retry") console.log(new Date(typed.retryAt), typed.reason)
}
const result = await turn.result
console.log(result.status === "parked" ? result.retryAt.getTime() : result.text)
const client = new HoldfastClient({ url: "http://127.0.0.1:4747", fetch: globalThis.fetch })
for await (const view of client.conversation("c").events({ after: 3 }).views()) {
  if (view.retry !== undefined)
    console.log(ConversationView.remainingMs(view.retry, Date.now()), view.retry.asks?.message)
}
export const problem = (error: unknown) => (error instanceof ClientError ? error.problem?.detail : undefined)
export const used = [
  RpcClient,
  EffectClient.layer,
  patient,
  patientLayer,
  languageModel,
  portOf,
  patientChatModel,
  patientModel,
  modelOf,
  Patience,
  Turn,
  Profile,
  RetryStrategies,
  FromAsyncIterable,
  Http,
  OpenAiCompatible,
  TurnEvent
]

/** Relays one attempt as a stream of events, of a request that has nothing of a turn. */
import type { Provider } from "@holdfast/kernel"
import { ProviderCall } from "@holdfast/kernel/host"
import { Dialects } from "@holdfast/providers/dialects"
import type * as RawCall from "@holdfast/providers/raw"
import { Ids } from "@holdfast/wire"
import * as Relay from "../../src/gateway/Relay.ts"

/** What goes up is the client's. */
export const UNREAD: Provider.ProviderRequest = {
  conversationId: Ids.ConversationId.make("none"),
  turnId: Ids.TurnId.make("none"),
  target: { provider: "none", model: "none" },
  step: 0,
  attempt: 0,
  messages: [],
  tools: []
}

export type Options = Parameters<typeof Relay.begin>[0]

export const CALL = { format: "chat", framing: "events", model: "m" } as const

/** The options of an attempt at an endpoint, for a chat stream. */
export const optionsOf = (send: RawCall.Send, options: Partial<Options>, url = "http://127.0.0.1:9"): Options => ({
  send,
  request: { url: `${url}/v1/chat/completions`, method: "POST", headers: [], body: Buffer.from("{}") },
  dialect: Dialects.byFormat.chat,
  call: CALL,
  conceal: (text) => text,
  client: {} as never,
  own: () => [],
  answered: () => {},
  refused: () => {},
  ...options
})

export const stream = (options: Options): ReturnType<Provider.Provider["Service"]["stream"]> =>
  ProviderCall.toStream((_request, world, listener) => Relay.begin(options, world, listener), UNREAD)

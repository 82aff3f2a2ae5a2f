/** Relays one attempt as a stream of events, of a request that has nothing of a turn. */
import type { Provider } from "@holdfast/kernel"
import { ProviderCall } from "@holdfast/kernel/host"
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

export const stream = (
  options: Parameters<typeof Relay.begin>[0]
): ReturnType<Provider.Provider["Service"]["stream"]> =>
  ProviderCall.toStream((_request, world, listener) => Relay.begin(options, world, listener), UNREAD)

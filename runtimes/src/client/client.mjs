/** A user's program over @holdfast/client, for every runtime: a turn through an outage and a broken answer, over both transports. */
import { ConversationView, HoldfastClient, webSocket } from "@holdfast/client"

/**
 * Prints one line for each transport: how the turn ended, and whether the screen has the messages that the service has. A wait lasts until it was
 * seen.
 */
export const runClient = async ({ print, token, url }) => {
  for (const transport of ["http", "websocket"]) {
    const client = new HoldfastClient({ url, token, transport: transport === "http" ? undefined : webSocket() })
    const conversation = await client.createConversation()
    const turn = await conversation.prompt("Are you there?\nsimulate: 529,cut-after-3+instant")
    let waits = 0
    let last = ConversationView.empty
    for await (const view of conversation.events().views()) {
      if (view.retry !== undefined && view.retry.attempt !== last.retry?.attempt) {
        waits++
        await conversation.retryNow()
      }
      last = view
      if (view.turn?.end !== undefined) break
    }
    const { end, status } = await turn.result()
    const isSame =
      JSON.stringify(ConversationView.messagesOf(last)) === JSON.stringify(await conversation.getMessages())
    await print(JSON.stringify({ transport, status, attempts: end.attempts, waits, isSame }))
    client.close()
  }
}

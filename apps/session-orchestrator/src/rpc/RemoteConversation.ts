/**
 * Carries out the commands of `holdfast rpc` (`RpcSession`) at a service in another process: a command is a call of the client, and the
 * events are a stream that reconnects.
 */
import type { ClientError } from "@holdfast/client"
import type { Conversation } from "@holdfast/client/effect"
import { defined, Ids, TurnEvent } from "@holdfast/wire"
import { RpcLines } from "@holdfast/wire/rpc"
import { Effect, Stream } from "effect"
import * as NewId from "../storage/NewId.ts"
import type * as RpcSession from "./RpcSession.ts"

/** Its commands and events. */
export const make = (conversation: Conversation): RpcSession.ConversationService<ClientError> => ({
  answer: (command) => {
    const head = { ...defined({ id: command.id }), type: "response", command: command.type } as const
    return dataOf(conversation, command).pipe(
      Effect.map((data): RpcLines.RpcResponse => ({ ...head, success: true, ...defined({ data }) })),
      Effect.catch((error) => Effect.succeed({ ...head, success: false, ...refusalOf(error) }))
    )
  },
  feed: (after, forward) => {
    let id = after()
    return Stream.runForEach(conversation.events({ after: id }), (event) =>
      forward([{ json: JSON.stringify(event), id: TurnEvent.isPersisted(event) ? ++id : undefined }])
    )
  }
})

// --- internal

type Data = RpcLines.RpcResponse["data"]

const dataOf = (conversation: Conversation, command: RpcLines.RpcCommand): Effect.Effect<Data, ClientError> => {
  switch (command.type) {
    case "get_state":
      return Effect.map(conversation.getState, (state) => ({ ...state, lastEventId: 0 }))
    case "prompt": {
      const turnId = command.turnId ?? NewId.turn()
      return Effect.as(conversation.prompt(command.prompt, { turnId }), { turnId })
    }
    case "retry": {
      const turnId = command.turnId ?? NewId.turn()
      return Effect.as(conversation.retry({ turnId }), { turnId })
    }
    default: {
      const { id: _, ...given } = command
      // With an id of its own a command can be sent again when its response is lost.
      const isSteering = "commandId" in RpcLines.commands[command.type].fields && !("commandId" in command)
      const rest = isSteering ? { ...given, commandId: Ids.CommandId.make(NewId.next()) } : given
      // The service is of the same protocol: its answer is not checked again.
      return Effect.map(conversation.command(rest), (data) => data as Data)
    }
  }
}

/** A refusal by its name. A service that could not carry a command out in time has named the reason in its last answer. */
const refusalOf = (error: ClientError): { readonly code: string; readonly error: string } => {
  const { cause } = error
  return error.code === "unreachable" && cause instanceof Error && "code" in cause && typeof cause.code === "string"
    ? { code: cause.code, error: cause.message }
    : { code: error.code, error: error.detail }
}

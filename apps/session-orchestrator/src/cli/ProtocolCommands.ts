/**
 * Runs `holdfast rpc` and `holdfast acp`: conversations of the service near it (`NearService`) over standard input and output, for programs (rule P16) and
 * for editors, by the Agent Client Protocol.
 *
 * Standard output has protocol lines and nothing else; logs and errors go to standard error. The end of standard input, Ctrl-C and
 * SIGTERM end the process with exit code 0. A turn that has not ended stays on disk, or goes on in the service.
 */
import { defined, Ids, TurnEvent } from "@holdfast/wire"
import { Effect, Stdio, Stream } from "effect"
import { Readable, Writable } from "node:stream"
import * as ModelChoice from "../config/ModelChoice.ts"
import { Outlet } from "../rpc/Outlet.ts"
import * as RpcSession from "../rpc/RpcSession.ts"
import * as Declaration from "./Declaration.ts"
import { ExitCode, Refused } from "./Ended.ts"
import * as RunInput from "./RunInput.ts"
import * as Signals from "./Signals.ts"
import * as NearService from "./client/NearService.ts"
import * as WantedConversation from "./WantedConversation.ts"
import type { ClientError } from "@holdfast/client"
import type { Conversation } from "@holdfast/client/effect"
import { RpcLines } from "@holdfast/wire/rpc"
import * as NewId from "../storage/NewId.ts"

/** The command `rpc`. */
export const rpc = NearService.command(
  {
    name: "rpc",
    does: "Run a conversation over standard input and output, one JSON object a line; docs/rpc.md describes the lines. Ends when standard input does. Exit codes: 0 ended, 1 failed, 2 usage or configuration",
    short: "Run a conversation by JSON lines, for programs",
    options: {
      conversation: Declaration.conversation("Conversation of the database to resume"),
      after: Declaration.orUndefined(
        Declaration.whole(
          "after",
          "With --conversation: write the events after this one only (default: 0, all of them)",
          0
        )
      )
    },
    examples: {
      "holdfast rpc": "A new conversation",
      "holdfast rpc --conversation ID --after 12": "Resume one, from its 13th event on"
    }
  },
  ({ after = 0, conversation }, near) => {
    const output = new Outlet(process.stdout)
    return Effect.scoped(
      Effect.gen(function* () {
        if (after > 0 && conversation === undefined) {
          return yield* Refused.usage("--after: a new conversation has no events. Give --conversation too.")
        }
        const signals = yield* Signals.Signals
        const { stdin } = yield* Stdio.Stdio
        const wanted = { conversation, isSocket: true }
        const service = remoteConversation((yield* WantedConversation.open(near, wanted)).conversation)
        const session = RpcSession.run({ service, after, input: stdin, write: (lines) => output.send(lines) })
        yield* Effect.raceFirst(session, Effect.asVoid(signals.first))
      })
    ).pipe(
      Effect.andThen(output.flushed("", RpcSession.LAST_READ)),
      // Node does not destroy its standard output, and would wait for the reader without end.
      Effect.map((isFlushed) => (isFlushed ? undefined : process.exit(ExitCode.COMPLETED)))
    )
  }
)

/** The command `acp`. */
export const acp = NearService.command(
  {
    name: "acp",
    does: "Serve an editor by the Agent Client Protocol over standard input and output; docs/acp.md has the editor's settings. Ends when standard input does. Exit codes: 0 ended, 1 failed, 2 usage or configuration",
    short: "Serve an editor by the Agent Client Protocol",
    options: {},
    examples: {
      "holdfast acp": "What an editor starts",
      "holdfast acp --model anthropic/claude-sonnet-4-5": "On another model"
    }
  },
  Effect.fnUntraced(function* (_given, { config, connect, isNamed, opening: given, parts }) {
    if (config.database.url !== undefined && !isNamed) {
      return yield* Refused.usage(
        "acp: with database.url the conversations belong to the runners. Give --config with a database.path of the editor's own."
      )
    }
    const { model, profile } = given
    const system = yield* RunInput.readSystem(given)
    const signals = yield* Signals.Signals
    const service = yield* connect(true)
    // The protocol's library is a part of the program that other commands do not load.
    const AcpAgent = yield* Effect.promise(() => import("../acp/AcpAgent.ts"))
    const agent = AcpAgent.run({
      version: parts.version,
      service,
      opening: defined({ model, retry: profile && { profile }, system }),
      models: ModelChoice.namesIn(config),
      input: Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>,
      output: Writable.toWeb(process.stdout)
    })
    yield* Effect.raceFirst(agent, Effect.asVoid(signals.first))
  })
)

// Carries out the commands of `holdfast rpc` (`RpcSession`) at a service in another process: a command is a call of the client, and the
// events are a stream that reconnects.

/** Its commands and events. */
const remoteConversation = (conversation: Conversation): RpcSession.ConversationService<ClientError> => ({
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

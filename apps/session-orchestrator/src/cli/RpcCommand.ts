/**
 * Runs `holdfast rpc`: one conversation over standard input and output, for programs (rule P16).
 *
 * Standard output has protocol lines and nothing else; logs and errors go to standard error. The end of standard input, Ctrl-C and
 * SIGTERM end the process with exit code 0. A turn that has not ended stays on disk.
 */
import type { Ids } from "@holdfast/wire"
import { Effect, Option, Stdio } from "effect"
import { Command, Flag } from "effect/cli"
import { Conversations } from "../conversation/Conversations.ts"
import * as Continuation from "../orchestrator/Continuation.ts"
import { Outlet } from "../rpc/Outlet.ts"
import * as RpcSession from "../rpc/RpcSession.ts"
import { Refused } from "./Ended.ts"
import * as ExitCode from "./ExitCode.ts"
import type { Parts, StartFailure } from "./Parts.ts"
import * as RunInput from "./RunInput.ts"
import * as Setup from "./Setup.ts"
import * as Signals from "./Signals.ts"

/** The command `rpc`. */
export const command = <E extends StartFailure>(parts: Parts<E>) =>
  Command.make(
    "rpc",
    {
      model: RunInput.flags.model,
      profile: RunInput.flags.profile,
      system: RunInput.flags.system,
      systemFile: RunInput.flags.systemFile,
      conversation: Flag.String("conversation").pipe(
        Flag.withMetavar("ID"),
        Flag.withDescription("Conversation of the database to resume; locks the database"),
        Flag.optional
      ),
      after: Flag.Int("after").pipe(
        Flag.withMetavar("N"),
        Flag.withDescription("With --conversation: write the events after this one only (default: 0, all of them)"),
        Flag.optional
      ),
      config: Setup.configFlag
    },
    (flags) => {
      const model = Option.getOrUndefined(flags.model)
      return Setup.withConfig(
        parts,
        {
          file: Option.getOrUndefined(flags.config),
          flags: { model, profile: Option.getOrUndefined(flags.profile) },
          isService: true
        },
        ({ database }) =>
          Effect.gen(function* () {
            const { conversationId, system } = yield* RunInput.readOptions(
              { ...flags, turnId: Option.none() },
              database
            )
            const after = yield* readAfter(flags.after, conversationId)
            const output = new Outlet(process.stdout)
            const begun =
              conversationId === undefined
                ? Effect.provide(converse(create(system), after, output), [parts.conversations, Signals.layer])
                : Effect.provide(converse(resume({ conversationId, system, model }), after, output), [
                    parts.continued,
                    Signals.layer
                  ])
            yield* begun
            // Node does not destroy its standard output, and would wait for the reader without end.
            if (!(yield* output.flushed("", RpcSession.LAST_READ))) process.exit(ExitCode.COMPLETED)
          })
      )
    }
  ).pipe(
    Command.withDescription(
      "Run a conversation over standard input and output, one JSON object a line; docs/rpc.md describes the lines. Ends when standard input does. Exit codes: 0 ended, 1 failed, 2 usage or configuration"
    ),
    Command.withShortDescription("Run a conversation by JSON lines, for programs"),
    Command.withExamples([
      { command: "holdfast rpc", description: "A new conversation" },
      { command: "holdfast rpc --conversation ID --after 12", description: "Resume one, from its 13th event on" }
    ])
  )

// --- internal

const create = Effect.fnUntraced(function* (system: string | undefined) {
  const conversations = yield* Conversations
  return yield* conversations.create({ system })
})

const resume = (wanted: Parameters<typeof Continuation.resume>[0]) =>
  Effect.as(Continuation.resume(wanted), wanted.conversationId)

const converse = Effect.fnUntraced(function* <E extends StartFailure, R>(
  begin: Effect.Effect<Ids.ConversationId, E, R>,
  after: number,
  output: Outlet
) {
  const signals = yield* Signals.Signals
  const { stdin } = yield* Stdio.Stdio
  const conversationId = yield* begin
  const session = RpcSession.run({ conversationId, after, input: stdin, write: (lines) => output.send(lines) })
  yield* Effect.raceFirst(session, Effect.asVoid(signals.first))
})

const readAfter = (given: Option.Option<number>, conversationId: string | undefined) => {
  if (Option.isNone(given)) return Effect.succeed(0)
  if (conversationId === undefined)
    return refused("--after: a new conversation has no events. Give --conversation too.")
  return given.value >= 0
    ? Effect.succeed(given.value)
    : refused(`--after: found ${given.value}; expected the id of an event, or 0.`)
}

const refused = (message: string) => Effect.fail(new Refused({ message, exitCode: ExitCode.USAGE }))

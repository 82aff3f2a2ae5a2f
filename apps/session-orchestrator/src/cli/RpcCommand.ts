/**
 * Runs `holdfast rpc`: one conversation of the service near it (`NearService`) over standard input and output, for programs (rule P16).
 *
 * Standard output has protocol lines and nothing else; logs and errors go to standard error. The end of standard input, Ctrl-C and
 * SIGTERM end the process with exit code 0. A turn that has not ended stays on disk.
 */
import { Effect, Option, Stdio } from "effect"
import { Command, Flag } from "effect/cli"
import { Outlet } from "../rpc/Outlet.ts"
import * as RemoteConversation from "../rpc/RemoteConversation.ts"
import * as RpcSession from "../rpc/RpcSession.ts"
import { Refused } from "./Ended.ts"
import * as ExitCode from "./ExitCode.ts"
import type { Parts, StartFailure } from "./Parts.ts"
import * as RunInput from "./RunInput.ts"
import * as Setup from "./Setup.ts"
import * as Signals from "./Signals.ts"
import * as NearService from "./client/NearService.ts"
import * as Service from "./client/Service.ts"
import * as WantedConversation from "./WantedConversation.ts"

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
        Flag.withDescription("Conversation of the database to resume"),
        Flag.optional
      ),
      after: Flag.Int("after").pipe(
        Flag.withMetavar("N"),
        Flag.withDescription("With --conversation: write the events after this one only (default: 0, all of them)"),
        Flag.optional
      ),
      ...Service.flags
    },
    (flags) => {
      const model = Option.getOrUndefined(flags.model)
      const profile = Option.getOrUndefined(flags.profile)
      const isNamed = NearService.isNamed(flags.url, parts.environment)
      return Setup.withConfig(
        parts,
        { file: Option.getOrUndefined(flags.config), flags: isNamed ? {} : { model, profile } },
        (config) =>
          Effect.gen(function* () {
            const { conversationId, system } = yield* RunInput.readOptions(
              { ...flags, turnId: Option.none() },
              config.database.url !== undefined && !isNamed
            )
            const after = yield* readAfter(flags.after, conversationId)
            const output = new Outlet(process.stdout)
            yield* Effect.gen(function* () {
              const signals = yield* Signals.Signals
              const { stdin } = yield* Stdio.Stdio
              const client = yield* NearService.connect(parts, flags.url, config, true)
              const conversation = yield* WantedConversation.open(parts, client, {
                conversationId,
                isNamed,
                model,
                profile,
                system
              })
              const service = RemoteConversation.make(conversation)
              const session = RpcSession.run({ service, after, input: stdin, write: (lines) => output.send(lines) })
              yield* Effect.raceFirst(session, Effect.asVoid(signals.first))
            }).pipe(Service.inWords, Effect.scoped, Effect.provide(Signals.layer))
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

const readAfter = (given: Option.Option<number>, conversationId: string | undefined) => {
  if (Option.isNone(given)) return Effect.succeed(0)
  if (conversationId === undefined)
    return refused("--after: a new conversation has no events. Give --conversation too.")
  return given.value >= 0
    ? Effect.succeed(given.value)
    : refused(`--after: found ${given.value}; expected the id of an event, or 0.`)
}

const refused = (message: string) => Effect.fail(new Refused({ message, exitCode: ExitCode.USAGE }))

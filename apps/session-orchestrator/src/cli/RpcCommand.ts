/**
 * Runs `holdfast rpc`: one conversation of the service near it (`NearService`) over standard input and output, for programs (rule P16).
 *
 * Standard output has protocol lines and nothing else; logs and errors go to standard error. The end of standard input, Ctrl-C and
 * SIGTERM end the process with exit code 0. A turn that has not ended stays on disk.
 */
import { Effect, Stdio } from "effect"
import { Outlet } from "../rpc/Outlet.ts"
import * as RemoteConversation from "../rpc/RemoteConversation.ts"
import * as RpcSession from "../rpc/RpcSession.ts"
import * as Declaration from "./Declaration.ts"
import { ExitCode, Refused } from "./Ended.ts"
import * as Signals from "./Signals.ts"
import * as NearService from "./client/NearService.ts"
import * as WantedConversation from "./WantedConversation.ts"

/** The command `rpc`. */
export const command = NearService.command(
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
        const service = RemoteConversation.make((yield* WantedConversation.open(near, wanted)).conversation)
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

/**
 * Runs `holdfast acp`: conversations for an editor, by the Agent Client Protocol over standard input and output.
 *
 * Standard output has protocol lines and nothing else; logs and errors go to standard error. The end of standard input, Ctrl-C and
 * SIGTERM end the process with exit code 0. A turn that has not ended stays on disk, or goes on in the service (`NearService`).
 */
import { defined } from "@holdfast/wire"
import { Effect } from "effect"
import { Readable, Writable } from "node:stream"
import { Refused } from "./Ended.ts"
import * as RunInput from "./RunInput.ts"
import * as Signals from "./Signals.ts"
import * as NearService from "./client/NearService.ts"

/** The command `acp`. */
export const command = NearService.command(
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
      models: AcpAgent.modelsIn(config),
      input: Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>,
      output: Writable.toWeb(process.stdout)
    })
    yield* Effect.raceFirst(agent, Effect.asVoid(signals.first))
  })
)

/**
 * Runs `holdfast acp`: conversations for an editor, by the Agent Client Protocol over standard input and output.
 *
 * Standard output has protocol lines and nothing else; logs and errors go to standard error. The end of standard input, Ctrl-C and
 * SIGTERM end the process with exit code 0. A turn that has not ended stays on disk, or goes on in the service (`NearService`).
 */
import { defined } from "@holdfast/wire"
import { Effect, Option } from "effect"
import { Command } from "effect/cli"
import { Readable, Writable } from "node:stream"
import type { Options } from "../acp/AcpAgent.ts"
import type { Values } from "../config/Config.ts"
import { Refused } from "./Ended.ts"
import * as ExitCode from "./ExitCode.ts"
import type { Parts, StartFailure } from "./Parts.ts"
import * as RunInput from "./RunInput.ts"
import * as Setup from "./Setup.ts"
import * as Signals from "./Signals.ts"
import * as NearService from "./client/NearService.ts"
import * as Service from "./client/Service.ts"

/** The command `acp`. */
export const command = <E extends StartFailure>(parts: Parts<E>) =>
  Command.make(
    "acp",
    {
      model: RunInput.flags.model,
      profile: RunInput.flags.profile,
      system: RunInput.flags.system,
      systemFile: RunInput.flags.systemFile,
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
            if (config.database.url !== undefined && !isNamed) return yield* Effect.fail(SHARED)
            const system = yield* RunInput.readSystem(flags)
            const opening = defined({ model, retry: profile && { profile }, system })
            const service = yield* NearService.connect(parts, flags.url, config, true)
            yield* serve(config, { version: parts.version, service, opening })
          }).pipe(Service.inWords, Effect.scoped, Effect.provide(Signals.layer))
      )
    }
  ).pipe(
    Command.withDescription(
      "Serve an editor by the Agent Client Protocol over standard input and output; docs/acp.md has the editor's settings. Ends when standard input does. Exit codes: 0 ended, 1 failed, 2 usage or configuration"
    ),
    Command.withShortDescription("Serve an editor by the Agent Client Protocol"),
    Command.withExamples([
      { command: "holdfast acp", description: "What an editor starts" },
      { command: "holdfast acp --model anthropic/claude-sonnet-4-5", description: "On another model" }
    ])
  )

// --- internal

const SHARED = new Refused({
  message:
    "acp: with database.url the conversations belong to the runners. Give --config with a database.path of the editor's own.",
  exitCode: ExitCode.USAGE
})

const serve = Effect.fnUntraced(function* (
  config: Pick<Values, "model" | "models" | "retry">,
  options: Pick<Options, "version" | "service" | "opening">
) {
  const signals = yield* Signals.Signals
  // The protocol's library is a part of the program that other commands do not load.
  const AcpAgent = yield* Effect.promise(() => import("../acp/AcpAgent.ts"))
  const input = Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>
  const output = Writable.toWeb(process.stdout)
  yield* Effect.raceFirst(
    AcpAgent.run({ ...options, models: AcpAgent.modelsIn(config), input, output }),
    Effect.asVoid(signals.first)
  )
})

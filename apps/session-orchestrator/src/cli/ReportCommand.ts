/** Runs `holdfast report`: what happened since a moment, from the database, with a service running or without (X12). */
import { Ids } from "@holdfast/wire"
import { Clock, Effect, Option, Schema } from "effect"
import { Command } from "effect/cli"
import { Secrets } from "../redaction/Secrets.ts"
import { Inspection } from "../inspection/Inspection.ts"
import * as PeriodPicture from "../inspection/period/PeriodPicture.ts"
import * as PeriodReports from "../inspection/period/PeriodReports.ts"
import * as PeriodText from "../inspection/period/PeriodText.ts"
import * as LocalTime from "../text/LocalTime.ts"
import { Refused } from "./Ended.ts"
import * as ExitCode from "./ExitCode.ts"
import type { Parts, StartFailure } from "./Parts.ts"
import * as PictureFile from "./PictureFile.ts"
import * as Setup from "./Setup.ts"
import * as Since from "./Since.ts"

/** The command `report`. */
export const command = <E extends StartFailure>(parts: Parts<E>) =>
  Command.make(
    "report",
    {
      config: Setup.configFlag,
      since: Setup.textFlag(
        "since",
        "MOMENT",
        `Begin of the report: ${Since.EXPECTED}. Without it: 12 hours ago, or with --conversation its beginning`
      ),
      conversation: Setup.textFlag("conversation", "ID", "Report the turns of one conversation: what it has cost"),
      markdown: Setup.switchFlag("markdown", "Print it as Markdown"),
      json: Setup.jsonFlag,
      svg: PictureFile.flag
    },
    ({ config: file, conversation, json, markdown, since: text, svg }) =>
      Setup.withConfig(parts, { file: Option.getOrUndefined(file) }, (config) =>
        Effect.gen(function* () {
          const until = yield* Clock.currentTimeMillis
          const { redact } = yield* Secrets
          const { sources } = yield* Inspection
          const conversationId = Option.getOrUndefined(Option.flatMap(conversation, decodeConversationId))
          const begun =
            conversationId === undefined ? undefined : yield* PeriodReports.beginning(sources.turns, conversationId)
          if (Option.isSome(conversation) && begun === undefined) {
            const message = `There is no turn of a conversation "${conversation.value}" in this database.`
            return yield* new Refused({ message, exitCode: ExitCode.FAILED })
          }
          const since = Option.isSome(text)
            ? yield* Since.orRefused(text.value, until)
            : (begun ?? until - PeriodReports.DEFAULT_LENGTH_MS)
          const report = yield* PeriodReports.read(sources, {
            ...PeriodReports.settingsOf(config, redact),
            conversationId,
            since: Math.min(since, until),
            until,
            timeZone: LocalTime.here()
          })
          yield* PictureFile.write(svg, () => PeriodPicture.svg(report))
          yield* Setup.print(json, report, () => (markdown ? PeriodText.markdown(report) : PeriodText.lines(report)))
        }).pipe(Effect.provide(parts.inspection))
      )
  ).pipe(
    Command.withDescription(
      "Print what happened since a moment: turns that were answered or failed, outages, what mends the failures, and what it cost"
    ),
    Command.withShortDescription("What happened in the night, and what it cost"),
    Command.withExamples([
      { command: "holdfast report --since 22:00", description: "The last night" },
      {
        command: "holdfast report --since 22:00 --markdown --svg night.svg",
        description: "For a page, with a picture"
      },
      { command: "holdfast report --conversation c_4f2k9x", description: "What a conversation has cost until now" },
      { command: "holdfast report --json | jq .line", description: "For programs" }
    ])
  )

// --- internal

const decodeConversationId = Schema.decodeUnknownOption(Ids.ConversationId)

/** `holdfast explain`, `report` and `health`: what happened, from the database or from a service (X9, X12). */
import { Clock, Effect } from "effect"
import * as EndpointReports from "../insight/inspection/endpoints/EndpointReports.ts"
import * as ExplanationText from "../insight/inspection/ExplanationText.ts"
import * as PeriodPicture from "../insight/inspection/period/PeriodPicture.ts"
import { PeriodReports } from "../insight/inspection/period/PeriodReports.ts"
import * as PeriodText from "../insight/inspection/period/PeriodText.ts"
import { StoredTurns } from "../insight/inspection/StoredTurns.ts"
import * as LocalTime from "../base/text/LocalTime.ts"
import * as RunningService from "./client/RunningService.ts"
import * as Declaration from "./Declaration.ts"
import { Refused } from "./Ended.ts"
import * as Setup from "./Setup.ts"
import * as Since from "./Since.ts"
import { Terminal } from "./terminal/Terminal.ts"

/** The command `explain`. */
export const explain = RunningService.reading(
  {
    name: "explain",
    does: "Print why a turn waited, retried or gave up: every decision and its numbers",
    short: "Why a turn waited, retried or gave up",
    options: {
      turn: Declaration.parsedArgument("turn", "Id of the turn, as `holdfast turns` prints it", Declaration.TURN),
      json: Declaration.json,
      rules: Declaration.toggle("rules", "Print the rules of each decision, as `pnpm rules` lists them")
    },
    examples: {
      "holdfast explain 5f0c3a52-7c53-4b7e-9b1e-0c8f5d0f3a11": "In words, in local time",
      "holdfast explain --json nightly-1 | jq .seal": "For programs"
    }
  },
  Effect.fnUntraced(function* ({ json, rules, turn }, read) {
    const { columns, isStdoutTerminal } = yield* Terminal
    const stored = Effect.flatMap(StoredTurns, ({ conversationOf, explain }) =>
      Effect.flatMap(conversationOf(turn), (id) => explain(id, turn)).pipe(
        Effect.catchTag(["TurnNotFound", "ConversationNotFound"], () =>
          unknown(`turn "${turn}" in this database. \`holdfast turns --all\` lists them`)
        )
      )
    )
    const explanation = yield* read(({ turn: find }) => find(turn).explain, stored)
    const now = yield* Clock.currentTimeMillis
    yield* Setup.print(json, explanation, () =>
      ExplanationText.lines(explanation, {
        now,
        timeZone: LocalTime.here(),
        columns: isStdoutTerminal ? columns() : ExplanationText.COLUMNS,
        isRuled: rules
      })
    )
  })
)

/** The command `report`. */
export const report = RunningService.reading(
  {
    name: "report",
    does: "Print what happened since a moment: turns that were answered or failed, outages, what mends the failures, and what it cost",
    short: "What happened in the night, and what it cost",
    options: {
      since: Since.flag("Begin of the report", ". Without it: 12 hours ago, or with --conversation its beginning"),
      conversation: Declaration.conversation("Report the turns of one conversation: what it has cost"),
      markdown: Declaration.toggle("markdown", "Print it as Markdown"),
      json: Declaration.json,
      svg: Declaration.svg
    },
    examples: {
      "holdfast report --since 22:00": "The last night",
      "holdfast report --since 22:00 --markdown --svg night.svg": "For a page, with a picture",
      "holdfast report --conversation c_4f2k9x": "What a conversation has cost until now",
      "holdfast report --json | jq .line": "For programs"
    }
  },
  Effect.fnUntraced(function* ({ conversation, json, markdown, since, svg }, read) {
    const until = yield* Clock.currentTimeMillis
    const stored = Effect.flatMap(PeriodReports, ({ ofConversation, report }) =>
      conversation === undefined
        ? report(since, until)
        : Effect.catchTag(ofConversation(conversation, since), "ConversationNotFound", () =>
            unknown(`conversation "${conversation}" in this database`)
          )
    )
    const report = yield* read((client) => client.report({ conversation, since }), stored)
    yield* Setup.draw(svg, () => PeriodPicture.svg(report))
    yield* Setup.print(json, report, () => (markdown ? PeriodText.markdown(report) : PeriodText.lines(report)))
  })
)

/** The command `health`. */
export const health = RunningService.command(
  {
    name: "health",
    does: "Print what the running service knows of each endpoint: gate, pauses with their ends, calls and failures of the last hour",
    short: "The endpoints: gates, quotas, calls and failures",
    options: { json: Declaration.json },
    examples: {
      "holdfast health": "Each endpoint and credential",
      "holdfast health --json | jq '.endpoints[] | {target, state}'": "For programs"
    }
  },
  Effect.fnUntraced(function* ({ json }, client) {
    const health = yield* client.health
    yield* Setup.print(json, health, () => EndpointReports.lines(health, LocalTime.toSeconds(health.at)))
  })
)

// --- internal

const unknown = (what: string) => Effect.fail(Refused.failed(`There is no ${what}.`))

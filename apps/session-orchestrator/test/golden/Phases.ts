/**
 * Conversations in every phase that a turn's journal can leave them in.
 *
 * A recording runs each conversation up to its phase and kills the process; a replay starts a process on what is on disk. The
 * provider knows a turn by the first of all prompts that it finds in a request, so a later prompt of a conversation comes first.
 */
import * as ScriptedServer from "@holdfast/simulated/testing"
import * as ProcessSetup from "../service/ProcessSetup.ts"
import { toolCalls } from "../service/ToolFrames.ts"
import * as TestToolServers from "@holdfast/mcp/testing"

type Response = ScriptedServer.ScriptedResponse

type Command = readonly [name: string, body: object]

export interface Phase {
  readonly name: string
  /** What the conversation is created with, besides the model. */
  readonly conversation?: object
  /** Its turns: prompts, which are the turns' ids too, or a manual retry. A turn with `awaited` ends before the next is sent. */
  readonly turns: ReadonlyArray<{ readonly prompt?: string; readonly awaited?: true }>
  /** The provider's answer to each prompt, before the kill and after it. */
  readonly says: Readonly<Record<string, readonly [before: ReadonlyArray<Response>, after: ReadonlyArray<Response>]>>
  /** The conversation is in its phase when its journals have so many records whose name ends like this. */
  readonly reached?: readonly [name: string, count: number]
  /** The conversation is in its phase when its provider was called so often. */
  readonly calls: number
  /** Commands once it waits for the second time, in order. */
  readonly commands?: ReadonlyArray<Command>
  /** Commands after the restart. */
  readonly commandsAfter?: ReadonlyArray<Command>
}

const { overloaded } = ProcessSetup
const never: Response = "never"
const refused = { status: 401, body: "no" }
const tooLong = { status: 400, body: ScriptedServer.ErrorBody.envelope("too-long", "openai") }

/** Emits a word or two, and then nothing. */
const halfAnswer: Response = { frames: ScriptedServer.answerFrames("openai", "Half of it"), stallAfter: 3 }

const REPORT = { schema: { type: "object", properties: { summary: { type: "string" } }, required: ["summary"] } }

const one = (
  prompt: string,
  before: ReadonlyArray<Response>,
  after: ReadonlyArray<Response>,
  rest: Partial<Phase> = {}
): Phase => ({ name: prompt, turns: [{ prompt }], says: { [prompt]: [before, after] }, calls: before.length, ...rest })

/** A path of a tool's argument, below the directory of the process. */
const RUNS = { file: "runs", gate: "gate" }

export const phases: ReadonlyArray<Phase> = [
  one("calling", [never], [ProcessSetup.answer("Called again")]),
  one("tried-twice", [overloaded, never], [ProcessSetup.answer("Called again")]),
  one("streaming", [halfAnswer], [ProcessSetup.answer("All of it")], { reached: ["/content", 1] }),
  one("waiting", [overloaded, overloaded], [overloaded, ProcessSetup.answer("At last")], {
    reached: ["decision/1", 1]
  }),
  one("changed", [overloaded, overloaded], [ProcessSetup.answer("Later")], {
    reached: ["sleep/1/1", 1],
    commands: [
      ["extend-budget", { byMs: 60_000, commandId: "extend" }],
      ["extend-budget", { byMs: 1_000, commandId: "extend-more" }]
    ]
  }),
  one("switched", [overloaded, overloaded, never], [ProcessSetup.answer("From b")], {
    reached: ["sleep/1", 1],
    commands: [["switch-target", { model: "other/b", commandId: "switch" }]]
  }),
  one("asking", [overloaded], [ProcessSetup.answer("Allowed")], {
    conversation: { retry: { spendGuard: { after: "10 millis", maxInputTokens: 1 } } },
    reached: ["sleep/0", 1],
    commandsAfter: [["retry-now", { commandId: "answer" }]]
  }),
  one(
    "tools-run",
    [
      {
        frames: toolCalls(
          { name: "append", input: RUNS },
          { name: "append_again", input: RUNS },
          { name: "echo", input: { text: "hi" } }
        )
      }
    ],
    [ProcessSetup.answer("With tools")],
    { reached: ["tool/2", 1] }
  ),
  one(
    "between-steps",
    [{ frames: toolCalls({ name: "echo", input: { text: "hi" } }) }, overloaded, overloaded],
    [ProcessSetup.answer("The second step")],
    { reached: ["decision/1", 1] }
  ),
  one("fallen-back", [overloaded, overloaded], [ProcessSetup.answer("From b")], {
    conversation: { retry: { routing: { type: "fallback-chain", chains: { "scripted/a": ["other/b"] } } } },
    reached: ["decision/1", 1]
  }),
  one("in-turns", [overloaded, refused, never], [ProcessSetup.answer("Around")], {
    conversation: {
      retry: { profile: "cycling", maxRetries: 6, routing: { type: "round-robin", targets: ["scripted/a", "other/b"] } }
    },
    reached: ["decision/1", 1]
  }),
  // The failure is on disk before the summary is asked for, so the context is not tried again: a summary, then the answer. While the kernel kept
  // a failure back for its decision, a process that died here had lost it, and the turn called once.
  {
    name: "summing-up",
    turns: [{ prompt: "before-the-sum", awaited: true }, { prompt: "summing-up" }],
    says: {
      "summing-up": [[tooLong], [ProcessSetup.answer("Compacted")]],
      "before-the-sum": [
        [ProcessSetup.answer("A first answer"), never],
        [ProcessSetup.answer("It was about a first question.")]
      ]
    },
    calls: 3,
    reached: ["attempt/0", 1]
  },
  {
    name: "summed-up",
    turns: [{ prompt: "long-before", awaited: true }, { prompt: "summed-up" }],
    says: {
      "summed-up": [[tooLong, overloaded, overloaded], [ProcessSetup.answer("Compacted")]],
      "long-before": [
        [ProcessSetup.answer("A first answer"), ProcessSetup.answer("It was about a first question.")],
        []
      ]
    },
    calls: 5,
    reached: ["decision/3", 1]
  },
  one("final-step", [overloaded, overloaded], [ProcessSetup.answer("The last word")], {
    conversation: { retry: { maxTurns: 1 } },
    reached: ["decision/1", 1]
  }),
  one(
    "reporting",
    [ProcessSetup.answer("No report"), overloaded],
    [{ frames: toolCalls({ name: "final_report", input: { summary: "Reported" } }) }],
    { conversation: { retry: { finalReport: REPORT } }, reached: ["decision/1", 1] }
  ),
  {
    name: "queued",
    turns: [{ prompt: "head-of-queue" }, { prompt: "behind-it" }],
    says: {
      "behind-it": [[], [ProcessSetup.answer("Second")]],
      "head-of-queue": [[overloaded, overloaded], [ProcessSetup.answer("First")]]
    },
    calls: 2,
    reached: ["decision/1", 1]
  },
  {
    name: "retried-by-hand",
    turns: [{ prompt: "refused-first", awaited: true }, {}],
    says: { "refused-first": [[refused, overloaded, overloaded], [ProcessSetup.answer("Retried")]] },
    calls: 3,
    reached: ["decision/1", 1]
  },
  one("sealed-well", [ProcessSetup.answer("Ended")], []),
  one("sealed-badly", [refused], [])
]

/** The configuration of recordings and replays. The second wait lasts beyond the kill, and is over before a replay. */
export const configOf = (provider: { readonly url: string }) => ({
  providers: {
    scripted: { type: "openai-compatible", baseUrl: `${provider.url}/v1` },
    other: { type: "openai-compatible", baseUrl: `${provider.url}/v1` }
  },
  model: "scripted/a",
  gate: { enabled: false },
  retry: { schedule: { type: "steps", delays: ["20 millis", "1 minute", "20 millis"] } },
  tools: {
    unruly: {
      ...TestToolServers.unrulyEntry(),
      allow: ["append", "append_again", "echo"],
      idempotent: ["append_again", "echo"]
    }
  }
})

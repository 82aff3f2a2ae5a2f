/**
 * Runs command lines that end by themselves in this process, over real files.
 *
 * `Cli.e2e.test.ts` runs the same program as a process: exit codes, streams, signals, other processes beside it.
 */
import { NodeServices } from "@effect/platform-node"
import { afterAll, beforeAll, describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Stdio, Stream } from "effect"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Cli from "../../src/cli/Cli.ts"
import * as Terminal from "../../src/cli/terminal/Terminal.ts"
import * as ProgramParts from "../../src/ProgramParts.ts"
import * as Recorder from "./Recorder.ts"

const home = process.cwd()
let directory = ""
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "holdfast-cli-"))
  // A folder without a configuration.
  process.chdir(directory)
})
afterAll(() => {
  process.chdir(home)
  rmSync(directory, { recursive: true, force: true })
})

interface Outcome {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs a command line to its end, with the test's environment only. */
const holdfast = (
  args: ReadonlyArray<string>,
  { env = {}, stdin = "" }: { readonly env?: Readonly<Record<string, string>>; readonly stdin?: string } = {}
): Promise<Outcome> => {
  const environment = { HOME: directory, PATH: process.env["PATH"], ...env }
  const recorder = Recorder.make({ stdout: false, stderr: false }, environment)
  return Cli.make(ProgramParts.make(environment), args).pipe(
    Effect.map((code) => ({ code, stdout: recorder.stdout(), stderr: recorder.stderr() })),
    Effect.provide([
      Layer.succeed(Terminal.Terminal, recorder.terminal),
      Stdio.layerTest({ stdin: Stream.make(new TextEncoder().encode(stdin)), stdinIsTerminal: Effect.succeed(false) })
    ]),
    Effect.provide(NodeServices.layer),
    Effect.runPromise
  )
}

const write = (name: string, content: string): string => {
  const path = join(directory, name)
  writeFileSync(path, content)
  return path
}

/** The line in which `run` names its turn. */
const HEAD = /^Turn (\S+) of conversation (\S+)\.\n$/

describe("holdfast", () => {
  it("starts the service without a command, as npx does", async () => {
    const { code, stderr } = await holdfast([], { env: { HOLDFAST_PORT: "none" } })
    expect(code).not.toBe(0)
    expect(stderr).toContain('HOLDFAST_PORT: found "none"')
  })

  it("--help names every command, and a command's help its flags", async () => {
    const root = await holdfast(["--help"])
    expect(root).toMatchObject({ code: 0, stderr: "" })
    const commands =
      "serve run rpc acp submit answer attach wait cancel retry give-up switch export turns backup schedule simulate config"
    for (const command of commands.split(" ")) expect(root.stdout).toContain(`\n  ${command} `)
    const run = await holdfast(["run", "--help"])
    const flags = "--model --json --config --system --system-file --conversation --turn-id --profile"
    for (const part of [...flags.split(" "), "Exit codes"]) expect(run.stdout).toContain(part)
  })

  it("an error that quotes its input has no character that reverses a line", async () => {
    for (const args of [
      ["run", "--model", "no\u202epe/x\u009b31m", "hi"],
      ["turns", "--since", "no\u202epe"]
    ]) {
      const { code, stderr } = await holdfast(args)
      expect(code).not.toBe(0)
      expect(stderr).toContain("nope")
      expect(stderr).not.toMatch(/[\u202e\u009b]/)
    }
  })

  it.each<[string, ReadonlyArray<string>, RegExp]>([
    [
      "a file that is not there",
      ["serve", "--config", "nowhere.json"],
      /^holdfast: nowhere\.json has a problem\.\n.*there is no such file\.\n$/
    ],
    [
      "an address that others reach",
      ["serve", "--host", "0.0.0.0"],
      /^holdfast: The configuration has a problem\.\n {2}--host: 0\.0\.0\.0 can be reached/
    ],
    [
      "a model without its key",
      ["run", "--model", "openai/gpt-5", "hi"],
      /--model: openai\/gpt-5 needs a key, and OPENAI_API_KEY is not set/
    ],
    ["a profile that does not exist", ["run", "--profile", "nightly", "hi"], /--profile.*"nightly".*"overnight"/s]
  ])("%s ends the start with 2, in one paragraph and without a stack trace", async (_what, args, expected) => {
    const { code, stderr, stdout } = await holdfast(args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" })
    expect(stderr).toMatch(expected)
    expect(stderr).not.toMatch(/\n\s+at /)
  })

  it("turns reports a database that does not exist, and creates none", async () => {
    const env = { HOLDFAST_DATABASE_PATH: join(directory, "nowhere.db") }
    for (const args of [["turns"], ["turns", "--json"], ["explain", "some-turn"]]) {
      const { code, stderr, stdout } = await holdfast(args, { env })
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
      expect(stderr).toContain(`There is no database at ${env.HOLDFAST_DATABASE_PATH}.`)
    }
    const backup = await holdfast(["backup", "copy.db"], { env })
    expect(backup).toMatchObject({ code: 1, stdout: "" })
    expect(backup.stderr).toContain("so there is nothing to back up")
  })

  const model = ["--model", "simulated/steady+instant"]
  const env = (name: string) => ({ HOLDFAST_DATABASE_PATH: join(directory, name) })

  it("a conversation continues, with its first system prompt", async () => {
    const file = write("system.txt", "Be brief.\n")
    const run = (...args: ReadonlyArray<string>) => holdfast(["run", ...model, ...args], { env: env("goes-on.db") })
    const begun = await run("--system-file", file, "Hello")
    const conversation = HEAD.exec(begun.stderr)?.[2] ?? ""
    const more = await run("--conversation", conversation, "--turn-id", "t-2", "More")
    expect(more).toMatchObject({ code: 0, stderr: `Turn t-2 of conversation ${conversation}.\n` })
    expect(await run("--conversation", conversation, "--system", "Be brief.", "Again")).toMatchObject({ code: 0 })
    const debug = await holdfast(["run", ...model, "Hello"], { env: { ...env("d.db"), HOLDFAST_LOG_LEVEL: "debug" } })
    expect(debug.stderr).toContain('"level":"DEBUG"')
    // The same turn id again is the same turn, and not a second one.
    const same = await run("--conversation", conversation, "--turn-id", "t-2", "More")
    expect(same).toEqual({ ...more, stderr: more.stderr.replace(".", ": it was sent before, and has ended.") })
    const bye = await run("--conversation", conversation, "--turn-id", "t-2", "Bye")
    expect(bye).toMatchObject({ code: 1, stderr: expect.stringContaining("The turn id t-2 belongs to another turn.") })

    const other = ["run", "--conversation", conversation, "--model", "simulated/instant", "And now?"]
    expect(await holdfast(other, { env: env("goes-on.db") })).toMatchObject({ code: 0 })

    const refusals: ReadonlyArray<[ReadonlyArray<string>, RegExp]> = [
      [["--conversation", conversation, "--system", "Be long."], /has another system prompt, and it cannot be changed/],
      [["--conversation", "c-nowhere"], /^holdfast: There is no conversation c-nowhere\.\n$/],
      [
        ["--turn-id", "t-2", "--model", "simulated/outage-2"],
        /^holdfast: Turn t-2 is on simulated\/steady\+instant, not/
      ]
    ]
    for (const [args, expected] of refusals) {
      const { code, stderr, stdout } = await holdfast(["run", ...args, "Hello"], { env: env("goes-on.db") })
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
      expect(stderr).toMatch(expected)
    }
    const elsewhere = HEAD.exec((await run("Hello")).stderr)?.[2] ?? ""
    const foreign = await run("--conversation", elsewhere, "--turn-id", "t-2", "More")
    expect(foreign).toMatchObject({ code: 1, stdout: "" })
    expect(foreign.stderr).toContain(`Turn t-2 belongs to conversation ${conversation}, not to ${elsewhere}.`)
  })

  it("run beside a database of runners, none of which answers, runs its turn in memory", async () => {
    const env = {
      HOLDFAST_DATABASE_URL: "postgres://u:p@127.0.0.1:1/h",
      HOLDFAST_RUNNER_TOKEN: "a-token-of-the-runners-of-this-test",
      HOLDFAST_PORT: "1"
    }
    const found = await holdfast(["run", ...model, "Hello"], { env })
    expect(found).toMatchObject({ code: 0, stdout: expect.stringContaining("Hello") })
  })
})

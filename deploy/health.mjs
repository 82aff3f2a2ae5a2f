/**
 * Ends with 0 when the service of this container answers a probe with 200: `node health.mjs /healthz`, or `/readyz`.
 *
 * The image has no curl. The token is read from the environment of the service, because `/readyz` needs it.
 */
const { HOLDFAST_PORT: port = "4747", HOLDFAST_TOKEN: token } = process.env
const path = process.argv[2] ?? "/healthz"

try {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(4000)
  })
  // `docker inspect` shows what a probe printed.
  process.stdout.write(`${path}: ${response.status} ${await response.text()}\n`)
  process.exitCode = response.ok ? 0 : 1
} catch (error) {
  process.stdout.write(`${path}: no answer on port ${port} (${error instanceof Error ? error.message : error})\n`)
  process.exitCode = 1
}

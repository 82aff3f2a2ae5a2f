/** Runs the test of the client in a page of another origin than the service: `/page?url=URL&token=TOKEN`. Each line that it prints is a POST to its own origin. */
import { runClient } from "./client.mjs"

const parameters = new URLSearchParams(location.search)
const print = (line) => fetch("/printed", { method: "POST", body: line })
try {
  await runClient({ url: parameters.get("url"), token: parameters.get("token"), print })
} catch (error) {
  await print(`failed: ${error.code ?? ""} ${error.message}`)
}
await print("over")

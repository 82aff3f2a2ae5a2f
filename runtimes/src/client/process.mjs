/** Runs the test of the client in a runtime with processes: `process.mjs URL TOKEN`. */
import process from "node:process"
import { runClient } from "./client.mjs"

const [, , url, token] = process.argv
await runClient({ url, token, print: (line) => console.log(line) })
console.log("over")
process.exit()

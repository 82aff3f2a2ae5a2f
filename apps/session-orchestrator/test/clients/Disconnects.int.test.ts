/**
 * Clients whose connections are cut anywhere, over each transport: what each assembled is what is persisted (rule X3).
 *
 * The same scripts run over server-sent events and a WebSocket, on real sockets, against the whole service and the simulated provider.
 */
import { describe } from "@effect/vitest"
import { httpDriver } from "./Drivers.ts"
import { CUTS, proof } from "./Proof.ts"

describe("a client whose connections are cut anywhere has what is persisted, without a gap and nothing twice", () => {
  proof("over server-sent events", httpDriver("http"), { cuts: CUTS })
  proof("over a WebSocket", httpDriver("websocket"), { cuts: CUTS })
})

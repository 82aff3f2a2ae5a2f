import type { RpcLines } from "@holdfast/wire/rpc"
import { expect, it } from "vitest"
import type { RpcState } from "../../src/rpc/RpcTypes.ts"

it("rule P16: a state of the protocol fits the plain type", () => {
  const plain = (state: RpcLines.RpcState): RpcState => state
  expect(plain).toBeTypeOf("function")
})

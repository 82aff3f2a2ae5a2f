export { RpcError } from "@holdfast/client/stdio"
export { RpcClient } from "./OwnRpcClient.ts"
export type { RpcOptions, RpcResult, RpcState } from "./RpcTypes.ts"

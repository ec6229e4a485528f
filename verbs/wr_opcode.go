package verbs

// WROpcode is the kind of a request in a send queue (enum ibv_wr_opcode), as tools
// and logs name it; batches have a method for each.
type WROpcode int32

// wrOpcodes are the library's names, by value.
var wrOpcodes = map[WROpcode]string{
	0: "rdma-write", 1: "rdma-write-with-imm", 2: "send", 3: "send-with-imm", 4: "rdma-read",
	5: "atomic-cmp-and-swp", 6: "atomic-fetch-and-add", 7: "local-inv", 8: "bind-mw", 9: "send-with-inv",
	10: "tso", 11: "driver1", 14: "flush", 15: "atomic-write",
}

// String names the kind as ibv_wr_opcode_str does.
//
// Implements: ibv_wr_opcode_str.
func (op WROpcode) String() string {
	if name, ok := wrOpcodes[op]; ok {
		return name
	}
	return "unknown"
}

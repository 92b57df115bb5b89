// Package oracle holds a test only: the oracle of kube-scheduler's default plugins (tests/oracle/default)
// against the plugins themselves, over random clusters. It is built with the tag oracle, as it links all
// of kube-scheduler:
//
//	tools/build release oracle_scenarios
//	tools/go test -tags oracle ./oracle
package oracle

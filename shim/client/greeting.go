package client

import (
	"fmt"
	"slices"
	"time"

	flatbuffers "github.com/google/flatbuffers/go"

	"headroom.dev/shim/wire"
)

// ProtocolVersion is the one that this package speaks.
const ProtocolVersion = 1

// ProfilePlugin is a plugin that a profile enables.
type ProfilePlugin struct {
	Name   string
	Weight int64 // of its score; 0: it only filters
}

// Profile is one that the server decides by.
type Profile struct {
	SchedulerName string
	Mode          string // Proposal, Upstream
	Plugins       []ProfilePlugin
	ReferredKinds []string // the kinds that it reads of those that nodes and pods refer to
	// What it decides of that which other profiles leave out; empty where the server does not say.
	Considered []wire.NotConsidered
}

// Has tells whether the profile enables the plugin; nil enables none.
func (p *Profile) Has(plugin string) bool {
	return p != nil && slices.ContainsFunc(p.Plugins, func(its ProfilePlugin) bool { return its.Name == plugin })
}

// Greeting is what the server said of itself when the connection was made, or since, once other profiles decide. It is
// not changed afterwards.
type Greeting struct {
	Server      string
	Incarnation uint64
	Profiles    []Profile         // that of this connection first
	PluginNames []string          // decisions name plugins by their place here
	Limits      map[string]uint64 // by the names of schema/limits.h
	// What this connection may do, and whose pods it reserves; empty where the server does not say.
	Roles []wire.Role
	Owner string
	// A reservation ends so long after it was made or renewed; 0: it does not.
	ReservationTime time.Duration
}

// Profile that decides for the scheduler of that name; "": for this connection. nil: none does.
func (g *Greeting) Profile(schedulerName string) *Profile {
	at := slices.IndexFunc(g.Profiles, func(its Profile) bool {
		return schedulerName == "" || its.SchedulerName == schedulerName
	})
	if at < 0 {
		return nil
	}
	return &g.Profiles[at]
}

// May tells whether the connection has the role.
func (g *Greeting) May(role wire.Role) bool {
	return len(g.Roles) == 0 || slices.Contains(g.Roles, role)
}

// limit is the server's value, or the one that version 1 began with.
func (g *Greeting) limit(name string, otherwise int) int {
	if value, ok := g.Limits[name]; ok && value > 0 && value < 1<<31 {
		return int(value)
	}
	return otherwise
}

// pluginName at that place; "": the server named none there.
func (g *Greeting) pluginName(place byte) string {
	if int(place) < len(g.PluginNames) {
		return g.PluginNames[place]
	}
	return ""
}

// encodeHello of a client that is decided for by the profile of that scheduler; "": by the server's first.
func encodeHello(e *encoder, name, schedulerName string) flatbuffers.UOffsetT {
	client := e.string(name)
	scheduler := e.optional(schedulerName)
	wire.HelloStart(e.b)
	wire.HelloAddVersionMin(e.b, ProtocolVersion)
	wire.HelloAddVersionMax(e.b, ProtocolVersion)
	wire.HelloAddClientName(e.b, client)
	wire.HelloAddSchedulerName(e.b, scheduler)
	return wire.HelloEnd(e.b)
}

// readGreeting reads the answer to a Hello.
func readGreeting(frame []byte) (greeting *Greeting, err error) {
	defer recoverMalformed(&err)
	var root wire.Frame
	var body flatbuffers.Table
	bodyType, err := openFrame(frame, &root, &body)
	if err != nil {
		return nil, err
	}
	if bodyType == wire.BodyError {
		return nil, readError(&body)
	}
	if bodyType != wire.BodyHelloReply {
		return nil, fmt.Errorf("the answer to Hello is %s", bodyType)
	}
	var reply wire.HelloReply
	reply.Init(body.Bytes, body.Pos)
	if reply.Version() != ProtocolVersion {
		return nil, fmt.Errorf("the server chose version %d; %d was offered", reply.Version(), ProtocolVersion)
	}
	greeting = &Greeting{
		Server:      string(reply.Server()),
		Incarnation: reply.Incarnation(),
		Limits:      make(map[string]uint64, reply.LimitsLength()),
		Owner:       string(reply.Owner()),

		ReservationTime: time.Duration(reply.ReservationSeconds()) * time.Second,
	}
	for i := range reply.RolesLength() {
		greeting.Roles = append(greeting.Roles, reply.Roles(i))
	}
	var profile wire.Profile
	for i := range reply.ProfilesLength() {
		reply.Profiles(&profile, i)
		read := Profile{SchedulerName: string(profile.SchedulerName()), Mode: string(profile.Mode())}
		var plugin wire.Plugin
		for j := range profile.PluginsLength() {
			profile.Plugins(&plugin, j)
			read.Plugins = append(read.Plugins, ProfilePlugin{string(plugin.Name()), plugin.Weight()})
		}
		for j := range profile.ReferredKindsLength() {
			read.ReferredKinds = append(read.ReferredKinds, string(profile.ReferredKinds(j)))
		}
		for j := range profile.ConsideredLength() {
			read.Considered = append(read.Considered, profile.Considered(j))
		}
		greeting.Profiles = append(greeting.Profiles, read)
	}
	var limit wire.Limit
	for i := range reply.LimitsLength() {
		reply.Limits(&limit, i)
		greeting.Limits[string(limit.Name())] = limit.Value()
	}
	for i := range reply.PluginNamesLength() {
		greeting.PluginNames = append(greeting.PluginNames, string(reply.PluginNames(i)))
	}
	return greeting, nil
}
